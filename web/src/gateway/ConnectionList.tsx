import { ErrorMessage } from "@/components/ErrorMessage";
import type { Connection, GatewayStatus } from "@/gateway/gatewayApi";
import { type MessageKey, useMessages } from "@/gateway/messages";
import type { Polled } from "@/gateway/usePolling";
import { formatNumber, formatRelativeTime } from "@/i18n";
import { getSourceLabel } from "@/sessions/sourceLabels";
import css from "./gateway.module.css";

/** Every connection to a chat network, with its last received and last sent message and what is queued since when. */
export function ConnectionList({ polled }: { polled: Polled<GatewayStatus> }) {
  const { t, language } = useMessages();
  const status = polled.data;
  return (
    <section className="card" aria-label={t("gateway.connections")}>
      <h2>{t("gateway.connections")}</h2>
      <ErrorMessage error={polled.error} retry={polled.refresh} />
      {!status && !polled.error && (
        <p className="dim" role="status">
          {t("loading")}
        </p>
      )}
      {status?.gateways.length === 0 && (
        <p className="empty-state">
          {t("gateway.none")} <code>sojourn gateway run</code>
        </p>
      )}
      {status?.gateways.map((gateway) => (
        <div key={gateway.id}>
          <p className="dim">
            {t("gateway.process", { host: gateway.host })} ·{" "}
            {t("gateway.heartbeat", { when: formatRelativeTime(gateway.beat_at, language) })}
          </p>
          <div className={css.connectionCards}>
            {Object.entries(gateway.lines)
              .sort()
              .map(([name, connection]) => (
                <ConnectionCard key={name} name={name} connection={connection} />
              ))}
          </div>
        </div>
      ))}
    </section>
  );
}

const STATE_LABELS: Record<string, MessageKey> = {
  up: "gateway.state.up",
  starting: "gateway.state.starting",
  elsewhere: "gateway.state.elsewhere",
  down: "gateway.state.down",
  failed: "gateway.state.failed",
};

function ConnectionCard({ name, connection }: { name: string; connection: Connection }) {
  const { t, language } = useMessages();
  const formatTime = (seconds: number | null | undefined) =>
    seconds ? formatRelativeTime(seconds, language) : t("gateway.never");
  const formatQueue = (n: number | undefined, since: number | null | undefined) =>
    n
      ? t("gateway.since", { n: formatNumber(n, language), when: formatRelativeTime(since, language) })
      : t("gateway.empty");
  return (
    <article className={css.connectionCard} data-connection={name} data-health={connection.health}>
      <h3>
        {getSourceLabel(name)}{" "}
        <span className={connection.health === "good" ? "pill good" : "pill bad"}>
          {connection.health === "stuck"
            ? t("gateway.stuck")
            : STATE_LABELS[connection.state]
              ? t(STATE_LABELS[connection.state]!)
              : connection.state}
        </span>
      </h3>
      {connection.problem && <p className="problem-text">{connection.problem}</p>}
      <dl className="detail-list">
        <div>
          <dt>{t("gateway.received")}</dt>
          <dd>{formatTime(connection.last_received)}</dd>
        </div>
        <div>
          <dt>{t("gateway.sent")}</dt>
          <dd>{formatTime(connection.last_sent)}</dd>
        </div>
        <div>
          <dt>{t("gateway.inbox")}</dt>
          <dd>{formatQueue(connection.waiting, connection.oldest_waiting)}</dd>
        </div>
        <div>
          <dt>{t("gateway.outbox")}</dt>
          <dd>{formatQueue(connection.pending, connection.oldest_pending)}</dd>
        </div>
        {Boolean(connection.failed) && (
          <div>
            <dt>{t("gateway.failed")}</dt>
            <dd>{formatNumber(connection.failed!, language)}</dd>
          </div>
        )}
      </dl>
    </article>
  );
}
