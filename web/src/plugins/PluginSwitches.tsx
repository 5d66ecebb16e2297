import { useState } from "react";
import { sendJson } from "@/api/http";
import { Dialog } from "@/components/Dialog";
import { ErrorMessage } from "@/components/ErrorMessage";
import { type MessageKey, useMessages } from "@/plugins/messages";
import { type Need, PLUGINS_API, type PluginPage, usePlugins } from "@/plugins/pluginList";

/** The plugins with a page, each with its needs and a switch. Turning one on asks for consent to its needs first. */
export function PluginSwitches() {
  const { t } = useMessages();
  const { pages, error, refresh } = usePlugins();
  const [consentFor, setConsentFor] = useState<PluginPage | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  const setEnabled = async (plugin: PluginPage, on: boolean) => {
    setConsentFor(null);
    setFailed(null);
    try {
      if (on)
        await sendJson("POST", `${PLUGINS_API}/${plugin.name}/enable`, {
          needs: plugin.needs.map((need) => need.name),
        });
      else await sendJson("POST", `${PLUGINS_API}/${plugin.name}/disable`);
    } catch (problem) {
      setFailed(problem);
    }
    refresh();
  };
  const listed = (pages ?? []).filter((plugin) => !plugin.built_in || plugin.problem);
  return (
    <section className="card" aria-labelledby="switches">
      <h2 id="switches">{t("plugins.title")}</h2>
      <ErrorMessage error={failed ?? error} />
      {pages && listed.length === 0 && <p className="dim">{t("plugins.none")}</p>}
      {listed.length > 0 && (
        <ul className="item-list">
          {listed.map((plugin) => (
            <li key={plugin.name}>
              <div className="grow">
                <p className="row">
                  <strong>{plugin.label}</strong> <span className="dim">{plugin.version}</span>{" "}
                  <span
                    className={plugin.state === "broken" ? "pill bad" : plugin.state === "on" ? "pill good" : "pill"}
                  >
                    {t(`plugins.${plugin.state}`)}
                  </span>
                </p>
                {plugin.description && <p>{plugin.description}</p>}
                {plugin.problem && (
                  <p className="problem-text">
                    {plugin.problem} <span className="dim">{plugin.hint}</span>
                  </p>
                )}
                {plugin.needs.length > 0 && (
                  <p className="dim">
                    {t("plugins.needs")} {plugin.needs.map((need) => need.name).join(", ")}
                  </p>
                )}
              </div>
              {plugin.state !== "broken" && (
                <button
                  className="switch"
                  role="switch"
                  aria-checked={plugin.state === "on"}
                  aria-label={plugin.label}
                  onClick={() => (plugin.state === "on" ? void setEnabled(plugin, false) : setConsentFor(plugin))}
                >
                  <span />
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {consentFor && (
        <Dialog
          label={t("plugins.consent", { label: consentFor.label })}
          close={() => setConsentFor(null)}
          closeLabel={t("action.close")}
        >
          <h2>{t("plugins.consent", { label: consentFor.label })}</h2>
          <NeedList needs={consentFor.needs} />
          <p className="dim">
            {t("plugins.trust")}{" "}
            {consentFor.has_api && t(consentFor.confined ? "plugins.confined" : "plugins.unconfined")}
          </p>
          <div className="row">
            <button className="button primary" onClick={() => void setEnabled(consentFor, true)}>
              {t("plugins.enable")}
            </button>
            <button className="button" onClick={() => setConsentFor(null)}>
              {t("action.cancel")}
            </button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

function NeedList({ needs }: { needs: Need[] }) {
  const { t } = useMessages();
  if (needs.length === 0) return <p>{t("plugins.needs.none")}</p>;
  return (
    <>
      <p>{t("plugins.needs")}</p>
      <ul>
        {needs.map((need) => (
          <li key={need.name}>{describeNeed(t(`need.${need.name}` as MessageKey), need)}</li>
        ))}
      </ul>
    </>
  );
}

/** The need in the person's language; one without a translation as the server describes it. */
const describeNeed = (translation: string, need: Need): string =>
  translation.startsWith("need.") ? need.meaning : translation;
