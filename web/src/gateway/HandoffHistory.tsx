import { ErrorMessage } from "@/components/ErrorMessage";
import type { Handoff } from "@/gateway/gatewayApi";
import { HandoffOutcome, HandoffSteps } from "@/gateway/HandoffSteps";
import { useMessages } from "@/gateway/messages";
import type { Polled } from "@/gateway/usePolling";
import { formatDateTime, formatRelativeTime } from "@/i18n";
import { followLink } from "@/router";
import { getSourceLabel } from "@/sessions/sourceLabels";
import css from "./gateway.module.css";

/** Every hand-off, newest first, with its steps and its outcome. */
export function HandoffHistory({ polled }: { polled: Polled<Handoff[]> }) {
  const { t, language } = useMessages();
  return (
    <section className="card" aria-label={t("handoff.history")}>
      <h2>{t("handoff.history")}</h2>
      <ErrorMessage error={polled.error} />
      {polled.data?.length === 0 && <p className="dim">{t("handoff.none")}</p>}
      <ul className={css.handoffList}>
        {polled.data?.map((handoff) => (
          <li key={handoff.id} data-handoff-id={handoff.id}>
            <p className="row">
              <a className="grow" href={`/chat/${encodeURIComponent(handoff.session)}`} onClick={followLink}>
                {handoff.title ?? handoff.session}
              </a>
              <span className="pill">
                {getSourceLabel(handoff.from_surface)} → {getSourceLabel(handoff.platform)}
                {handoff.target && `: ${handoff.target}`}
              </span>
              <span className="dim" title={formatDateTime(handoff.created_at, language)}>
                {formatRelativeTime(handoff.created_at, language)}
              </span>
            </p>
            <HandoffSteps handoff={handoff} />
            <HandoffOutcome handoff={handoff} />
          </li>
        ))}
      </ul>
    </section>
  );
}
