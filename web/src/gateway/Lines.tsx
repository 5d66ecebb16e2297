import { Trouble } from "@/components/Trouble";
import type { Line, Status } from "@/gateway/gatewayApi";
import type { Beat } from "@/gateway/useBeat";
import { ago, count, useWords, type Key } from "@/i18n";

export const iso = (seconds: number | null | undefined): string | null => (seconds ? new Date(seconds * 1000).toISOString() : null);

/** Every line to a network. Health is progress: what came last, what went last, what waits and since when. */
export function Lines({ beat }: { beat: Beat<Status> }) {
  const { t, language } = useWords();
  const status = beat.value;
  return (
    <section className="card" aria-label={t("gateway.lines")}>
      <h2>{t("gateway.lines")}</h2>
      <Trouble error={beat.error} retry={beat.again} />
      {!status && !beat.error && <p className="dim" role="status">{t("loading")}</p>}
      {status?.gateways.length === 0 && <p className="empty">{t("gateway.none")} <code>sojourn gateway run</code></p>}
      {status?.gateways.map((one) => (
        <div key={one.id} className="gateway">
          <p className="dim">{t("gateway.process", { host: one.host, pid: one.pid })} · {t("gateway.alive", { when: ago(iso(one.beat_at), language) })}</p>
          <div className="line-cards">
            {Object.entries(one.lines).sort().map(([name, line]) => <LineCard key={name} name={name} line={line} />)}
          </div>
        </div>
      ))}
    </section>
  );
}

const STATES: Record<string, Key> = { up: "gateway.state.up", starting: "gateway.state.starting", elsewhere: "gateway.state.elsewhere", down: "gateway.state.down", failed: "gateway.state.failed" };

function LineCard({ name, line }: { name: string; line: Line }) {
  const { t, language } = useWords();
  const when = (seconds: number | null | undefined) => (seconds ? ago(iso(seconds), language) : t("gateway.never"));
  const waits = (n: number | undefined, since: number | null | undefined) => (n ? t("gateway.since", { n: count(n, language), when: ago(iso(since), language) }) : t("gateway.nothing"));
  return (
    <article className="line-card" data-line={name} data-health={line.health}>
      <h3>{name} <span className={line.health === "good" ? "pill good" : "pill bad"}>{line.health === "stuck" ? t("gateway.stuck") : STATES[line.state] ? t(STATES[line.state]!) : line.state}</span></h3>
      {line.problem && <p className="problem-text">{line.problem}</p>}
      <dl className="facts">
        <div><dt>{t("gateway.heard")}</dt><dd>{when(line.last_received)}</dd></div>
        <div><dt>{t("gateway.said")}</dt><dd>{when(line.last_sent)}</dd></div>
        <div><dt>{t("gateway.waiting")}</dt><dd>{waits(line.waiting, line.oldest_waiting)}</dd></div>
        <div><dt>{t("gateway.pending")}</dt><dd>{waits(line.pending, line.oldest_pending)}</dd></div>
        {Boolean(line.failed) && <div><dt>{t("gateway.failed")}</dt><dd>{count(line.failed!, language)}</dd></div>}
      </dl>
    </article>
  );
}
