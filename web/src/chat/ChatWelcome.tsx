import { useMessages } from "@/chat/messages";
import { ModelCards } from "@/components/ModelCards";
import css from "./ChatWelcome.module.css";

export function ChatWelcome() {
  const { t } = useMessages();
  return (
    <div className={css.chatWelcome}>
      <img src="/assets/icon.svg" alt="" width="56" height="56" />
      <h2>{t("chat.welcome")}</h2>
      <p className="dim">{t("chat.welcome.hint")}</p>
      <ModelCards />
    </div>
  );
}
