import { Trouble } from "@/components/Trouble";
import type { Delivery, Handoff } from "@/gateway/gatewayApi";
import { iso } from "@/gateway/Lines";
import { Ending, Steps } from "@/gateway/Steps";
import type { Beat } from "@/gateway/useBeat";
import { ago, moment, useWords, type Key } from "@/i18n";
import { follow } from "@/router";

/** Every hand-off there was, with the steps it took. */
export function Handoffs({ beat }: { beat: Beat<Handoff[]> }) {
  const { t, language } = useWords();
  return (
    <section className="card" aria-label={t("handoff.history")}>
      <h2>{t("handoff.history")}</h2>
      <Trouble error={beat.error} />
      {beat.value?.length === 0 && <p className="dim">{t("handoff.none")}</p>}
      <ul className="handoffs">
        {beat.value?.map((one) => (
          <li key={one.id} data-handoff-id={one.id}>
            <p className="row">
              <a className="grow" href={`/chat/${encodeURIComponent(one.session)}`} onClick={follow}>{one.title ?? one.session}</a>
              <span className="pill">{one.from_surface} → {one.target ? `${one.platform}:${one.target}` : one.platform}</span>
              <span className="dim" title={moment(iso(one.created_at), language)}>{ago(iso(one.created_at), language)}</span>
            </p>
            <Steps handoff={one} />
            <Ending handoff={one} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const GOOD = ["sent", "delivered"];

/** What was to be sent, and what became of it. */
export function Ledger({ beat }: { beat: Beat<Delivery[]> }) {
  const { t, language } = useWords();
  return (
    <section className="card" aria-label={t("ledger.title")}>
      <h2>{t("ledger.title")}</h2>
      <Trouble error={beat.error} />
      {beat.value?.length === 0 && <p className="dim">{t("ledger.none")}</p>}
      {Boolean(beat.value?.length) && (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={t("ledger.title")}>
          <table>
            <thead><tr><th>{t("ledger.when")}</th><th>{t("ledger.where")}</th><th>{t("ledger.what")}</th><th>{t("ledger.tries")}</th><th>{t("ledger.state")}</th></tr></thead>
            <tbody>
              {beat.value!.map((one) => (
                <tr key={one.id} data-delivery={one.state}>
                  <td className="dim" title={moment(iso(one.created_at), language)}>{ago(iso(one.created_at), language)}</td>
                  <td><span className="pill">{one.platform}</span> <span className="mono dim">{one.place}</span></td>
                  <td className="gist">{one.text}{one.error && <p className="problem-text">{one.error}</p>}</td>
                  <td className="number">{one.attempts}</td>
                  <td><span className={GOOD.includes(one.state) ? "pill good" : one.state === "failed" ? "pill bad" : "pill"}>{t(`ledger.state.${one.state}` as Key)}</span>{one.possible_duplicate && <span className="pill" title={t("ledger.twice.hint")}>{t("ledger.twice")}</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
