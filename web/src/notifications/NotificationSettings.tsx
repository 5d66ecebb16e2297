import { useState } from "react";
import {
  getNotificationState,
  showNotification,
  turnNotificationsOff,
  turnNotificationsOn,
} from "@/notifications/browserNotifications";
import { useMessages } from "@/notifications/messages";
import { PushConsent } from "@/notifications/PushConsent";

/** Whether this browser notifies, with the consent for it; or what is missing. */
export function NotificationSettings() {
  const { t } = useMessages();
  const [state, setState] = useState(getNotificationState);
  return (
    <section className="card" aria-label={t("notify.title")}>
      <h2>{t("notify.title")}</h2>
      <p className="dim">{t("notify.about")}</p>
      {state === "off" ? (
        <button className="button primary" onClick={() => void turnNotificationsOn().then(setState)}>
          {t("notify.turnon")}
        </button>
      ) : (
        <p role="status">{t(`notify.${state}`)}</p>
      )}
      {state === "on" && (
        <div className="row">
          <button
            className="button"
            onClick={() => void showNotification("Sojourn", t("notify.test.body"), "/settings/general", "test")}
          >
            {t("notify.test")}
          </button>
          <button className="button" onClick={() => setState(turnNotificationsOff())}>
            {t("notify.turnoff")}
          </button>
        </div>
      )}
      {state === "on" && <PushConsent />}
    </section>
  );
}
