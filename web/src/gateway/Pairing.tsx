import { useState } from "react";
import { Icon } from "@/components/Icon";
import { Trouble } from "@/components/Trouble";
import { gatewayApi, type People } from "@/gateway/gatewayApi";
import { iso } from "@/gateway/Lines";
import type { Beat } from "@/gateway/useBeat";
import { ago, useWords } from "@/i18n";

type Stranger = People["waiting"][number];

/** Who asks to be let in, and who is in. A name proves nothing, so letting in needs the code the person was given. */
export function Pairing({ beat }: { beat: Beat<People> }) {
  const { t } = useWords();
  const [error, setError] = useState<unknown>(null);
  const change = (work: Promise<unknown>) => {
    setError(null);
    work.then(beat.again, setError);
  };
  const people = beat.value;
  return (
    <section className="card" aria-label={t("people.title")}>
      <h2>{t("people.title")}</h2>
      <p className="dim">{t("people.about")}</p>
      <Trouble error={error ?? beat.error} />
      {people?.waiting.length === 0 && <p className="dim">{t("people.nobody")}</p>}
      <ul className="people">
        {people?.waiting.map((one) => <Waiting key={`${one.platform}:${one.sender}`} one={one} letIn={(code, owner) => change(gatewayApi.letIn(code, owner, ""))} turnAway={() => change(gatewayApi.turnAway(one.platform, one.sender))} />)}
      </ul>
      {Boolean(people?.paired.length) && <h3>{t("people.in")}</h3>}
      <ul className="people">
        {people?.paired.map((one) => (
          <li key={`${one.platform}:${one.sender}`} className="row">
            <span className="pill">{one.platform}</span> <strong>{one.name || one.sender}</strong> <span className="dim mono grow">{one.sender}</span> <span className="pill">{one.principal === "owner" ? t("people.owner") : t("people.guest")}</span>
            <button className="button danger" onClick={() => change(gatewayApi.letOut(one.platform, one.sender))}>{t("people.out")}</button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Waiting({ one, letIn, turnAway }: { one: Stranger; letIn: (code: string, owner: boolean) => void; turnAway: () => void }) {
  const { t, language } = useWords();
  const [code, setCode] = useState("");
  const [owner, setOwner] = useState(false);
  return (
    <li data-waiting={one.sender}>
      <form className="row" onSubmit={(event) => { event.preventDefault(); letIn(code, owner); }}>
        <span className="pill">{one.platform}</span> <strong>{one.name || one.sender}</strong> <span className="dim mono">{one.sender}</span> <span className="dim grow">{t("people.until", { when: ago(iso(one.until), language) })}</span>
        <input className="code-box mono" placeholder={t("people.code")} aria-label={t("people.code.of", { name: one.name || one.sender })} value={code} autoComplete="off" maxLength={40} onChange={(event) => setCode(event.target.value)} />
        <label className="row"><input type="checkbox" checked={owner} onChange={(event) => setOwner(event.target.checked)} /> {t("people.me")}</label>
        <button className="button primary" disabled={!code.trim()}><Icon name="check" size={16} /> {t("people.approve")}</button>
        <button type="button" className="button danger" onClick={turnAway}>{t("people.deny")}</button>
      </form>
    </li>
  );
}
