import { ErrorMessage } from "@/components/ErrorMessage";
import type { Delivery } from "@/gateway/gatewayApi";
import { type MessageKey, useMessages } from "@/gateway/messages";
import type { Polled } from "@/gateway/usePolling";
import { formatDateTime, formatRelativeTime } from "@/i18n";
import { getSourceLabel } from "@/sessions/sourceLabels";
import css from "./gateway.module.css";

const SUCCESS_STATES = ["sent", "delivered"];

/** The outbox: every outgoing message with its attempts and state. */
export function DeliveryLog({ polled }: { polled: Polled<Delivery[]> }) {
  const { t, language } = useMessages();
  return (
    <section className="card">
      <h2>{t("deliveries.title")}</h2>
      <ErrorMessage error={polled.error} />
      {polled.data?.length === 0 && <p className="dim">{t("deliveries.none")}</p>}
      {Boolean(polled.data?.length) && (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={t("deliveries.title")}>
          <table>
            <thead>
              <tr>
                <th>{t("deliveries.when")}</th>
                <th>{t("deliveries.where")}</th>
                <th>{t("deliveries.what")}</th>
                <th>{t("deliveries.attempts")}</th>
                <th>{t("deliveries.state")}</th>
              </tr>
            </thead>
            <tbody>
              {polled.data!.map((delivery) => (
                <tr key={delivery.id} data-delivery={delivery.state}>
                  <td className={`dim ${css.deliveryTime}`} title={formatDateTime(delivery.created_at, language)}>
                    {formatRelativeTime(delivery.created_at, language)}
                  </td>
                  <td>
                    <span className="pill">{getSourceLabel(delivery.platform)}</span>{" "}
                    <span className="mono dim">{delivery.place}</span>
                  </td>
                  <td className={css.deliveryText}>
                    <span title={delivery.text}>{delivery.text.replace(/```\w*\n?|\*\*/g, "")}</span>
                    {delivery.error && <p className="problem-text">{delivery.error}</p>}
                  </td>
                  <td className="number">{delivery.attempts}</td>
                  <td>
                    <span
                      className={
                        SUCCESS_STATES.includes(delivery.state)
                          ? "pill good"
                          : delivery.state === "failed"
                            ? "pill bad"
                            : "pill"
                      }
                    >
                      {t(`deliveries.state.${delivery.state}` as MessageKey)}
                    </span>
                    {delivery.possible_duplicate && (
                      <span className="pill" title={t("deliveries.duplicate.hint")}>
                        {t("deliveries.duplicate")}
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
