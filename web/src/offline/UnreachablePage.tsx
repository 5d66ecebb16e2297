import { Icon } from "@/components/Icon";
import { useMessages } from "@/offline/messages";
import css from "./UnreachablePage.module.css";

/** What the stored shell shows while no server answers. */
export function UnreachablePage() {
  const { t } = useMessages();
  return (
    <main className={css.unreachable}>
      <Icon name="plug" size={40} />
      <h1>{t("offline.title")}</h1>
      <p>{t("offline.hint", { where: location.host })}</p>
      <p>
        {t("offline.start")} <code>sojourn dashboard</code>
      </p>
      <p className="dim" role="status">
        {t("offline.wait")}
      </p>
      <button className="button primary" onClick={() => location.reload()}>
        {t("action.retry")}
      </button>
    </main>
  );
}
