import { useState } from "react";
import { sendJson } from "@/api/http";
import { Dialog } from "@/components/Dialog";
import { Trouble } from "@/components/Trouble";
import { useWords, type Key } from "@/i18n";
import { PLUGINS, usePlugins, type Need, type PluginPage } from "@/plugins/listing";

/** Plugins with a page: what each is, what it needs, and a switch. Before one is turned on, its needs are shown. */
export function Switches() {
  const { t } = useWords();
  const { pages, error, refresh } = usePlugins();
  const [asking, setAsking] = useState<PluginPage | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  const turn = async (one: PluginPage, on: boolean) => {
    setAsking(null);
    setFailed(null);
    try {
      if (on) await sendJson("POST", `${PLUGINS}/${one.name}/enable`, { needs: one.needs.map((need) => need.name) });
      else await sendJson("POST", `${PLUGINS}/${one.name}/disable`);
    } catch (problem) {
      setFailed(problem);
    }
    refresh();
  };
  const found = (pages ?? []).filter((one) => !one.built_in || one.problem);
  return (
    <section className="card" aria-labelledby="switches">
      <h2 id="switches">{t("plugins.title")}</h2>
      <Trouble error={failed ?? error} />
      {pages && found.length === 0 && <p className="dim">{t("plugins.none")}</p>}
      <ul className="switches">
        {found.map((one) => (
          <li key={one.name}>
            <div className="grow">
              <p className="row"><strong>{one.label}</strong> <span className="dim">{one.version}</span> <span className={one.state === "broken" ? "pill bad" : one.state === "on" ? "pill good" : "pill"}>{t(`plugins.${one.state}`)}</span></p>
              {one.description && <p>{one.description}</p>}
              {one.problem && <p className="problem-text">{one.problem} <span className="dim">{one.hint}</span></p>}
              {one.needs.length > 0 && <p className="dim">{t("plugins.needs")} {one.needs.map((need) => need.name).join(", ")}</p>}
            </div>
            {one.state !== "broken" && (
              <button className="switch" role="switch" aria-checked={one.state === "on"} aria-label={one.label} onClick={() => (one.state === "on" ? void turn(one, false) : setAsking(one))}><span /></button>
            )}
          </li>
        ))}
      </ul>
      {asking && (
        <Dialog label={t("plugins.consent", { label: asking.label })} close={() => setAsking(null)} closeLabel={t("action.close")}>
          <h2>{t("plugins.consent", { label: asking.label })}</h2>
          <Needs needs={asking.needs} />
          <p className="dim">{t("plugins.trust")} {asking.has_api && t(asking.confined ? "plugins.confined" : "plugins.open")}</p>
          <div className="row">
            <button className="button primary" onClick={() => void turn(asking, true)}>{t("plugins.turn_on")}</button>
            <button className="button" onClick={() => setAsking(null)}>{t("action.cancel")}</button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

function Needs({ needs }: { needs: Need[] }) {
  const { t } = useWords();
  if (needs.length === 0) return <p>{t("plugins.nothing")}</p>;
  return (
    <>
      <p>{t("plugins.needs")}</p>
      <ul>{needs.map((need) => <li key={need.name}>{meaning(t(`need.${need.name}` as Key), need)}</li>)}</ul>
    </>
  );
}

/** In the person's language, where there are words; else as the server says it. */
const meaning = (told: string, need: Need) => (told.startsWith("need.") ? need.meaning : told);
