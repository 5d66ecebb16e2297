import type { TurnView } from "@/chat/chatView";
import { useMessages } from "@/chat/messages";
import { Icon } from "@/components/Icon";
import { InlineCode } from "@/components/InlineCode";
import { followLink } from "@/router";
import { describeProblem, useServerTexts } from "@/serverTexts/serverTexts";
import css from "./TurnError.module.css";

const OF_THE_MODEL = [
  "key_refused",
  "runtime_failed",
  "runtime_unreachable",
  "runtime_timeout",
  "rate_limited",
  "context_full",
  "not_ready",
];

/** Why a turn failed, and what can be done about it with one click. */
export function TurnError({ error, retry }: { error: NonNullable<TurnView["error"]>; retry: (() => void) | null }) {
  const { t } = useMessages();
  const { message, hint, original } = describeProblem(error.code, error.message, error.hint ?? "", useServerTexts());
  const advice = error.code === "key_refused" ? t("chat.keyhint") : hint; // here, without a terminal
  const chooseModel = () => {
    const picker = document.querySelector<HTMLElement>("[data-model-picker]");
    picker?.focus();
    if (picker instanceof HTMLButtonElement) picker.click(); // on a phone it opens the choice
  };
  return (
    <div className={`card problem ${css.turnError}`} role="alert">
      <p>
        <strong>{message}</strong>
      </p>
      {advice && (
        <p className="dim">
          <InlineCode text={advice} />
        </p>
      )}
      {original && (
        <p className="dim" lang="en">
          {original}
        </p>
      )}
      <div className="row">
        {retry && (
          <button className="button" onClick={retry}>
            <Icon name="retry" size={16} /> {t("action.retry")}
          </button>
        )}
        {OF_THE_MODEL.includes(error.code) && (
          <>
            <button className="button" onClick={chooseModel}>
              <Icon name="bot" size={16} /> {t("chat.othermodel")}
            </button>
            <a className="button" href="/settings/models" onClick={followLink}>
              <Icon name="gear" size={16} /> {t("chat.opensettings")}
            </a>
          </>
        )}
        <span className="dim mono">{error.code}</span>
      </div>
    </div>
  );
}
