import type { TextView, TurnView } from "@/chat/chatView";
import { useMessages } from "@/chat/messages";
import { useRuntimes } from "@/chat/useRuntimes";
import type { TurnActions } from "@/chat/useTurnActions";
import { CompareButton } from "@/compare/CompareButton";
import { copyText } from "@/components/clipboard";
import { Icon, type IconName } from "@/components/Icon";
import { showToast } from "@/components/Toasts";
import { formatDateTime, formatNumber, formatTime } from "@/i18n";
import css from "./TurnFooter.module.css";

/** One quiet line under an answer: who answered, when, how long, tokens and cost; and what can be done with it. */
export function TurnFooter({
  turn,
  sessionModel,
  actions,
}: {
  turn: TurnView;
  sessionModel: string;
  actions?: TurnActions;
}) {
  const { t, language } = useMessages();
  const author = useAuthor(turn, sessionModel);
  const { input_tokens: input, output_tokens: output, cost_usd: cost, seconds } = turn.usage as Record<string, unknown>;
  const facts = [
    author,
    typeof seconds === "number" ? `${seconds.toFixed(1)} s` : "",
    typeof input === "number" && input > 0
      ? t("chat.tokens", { in: formatNumber(input, language), out: formatNumber(Number(output ?? 0), language) })
      : "",
    typeof cost === "number" ? `$${cost.toFixed(4)}` : "",
  ].filter(Boolean);
  const text = turn.parts
    .filter((part): part is TextView => part.kind === "text")
    .map((part) => part.text)
    .join("\n\n");
  return (
    <div className={css.turnFooter}>
      {turn.at && (
        <time dateTime={turn.at} title={formatDateTime(turn.at, language)}>
          {formatTime(turn.at, language)}
        </time>
      )}
      {facts.length > 0 && <span className={css.turnUsage}>{facts.join(" · ")}</span>}
      <span className={css.turnActions}>
        {text && (
          <ActionButton
            icon="copy"
            label={t("chat.copy")}
            run={() => void copyText(text).then(() => showToast(t("action.copied")))}
          />
        )}
        {actions && turn.userMessage && (
          <ActionButton icon="retry" label={t("chat.retry")} run={() => actions.retry(turn)} />
        )}
        {actions && turn.userMessage && (
          <CompareButton current={author} ask={(choices) => actions.compare(turn, choices)} />
        )}
        {actions && turn.parts.length > 0 && (
          <ActionButton icon="branch" label={t("chat.branch")} run={() => actions.branch(turn)} />
        )}
      </span>
    </div>
  );
}

function ActionButton({ icon, label, run }: { icon: IconName; label: string; run: () => void }) {
  return (
    <button className="ghost" aria-label={label} title={label} onClick={run}>
      <Icon name={icon} size={15} />
    </button>
  );
}

/** The model that answered; the runtime's name where it has no models of its own. */
function useAuthor(turn: TurnView, sessionModel: string): string {
  const runtimes = useRuntimes();
  const runtime = runtimes.find((one) => one.name === turn.runtime);
  const model = String(turn.usage["model"] ?? "") || turn.model;
  if (!runtime) return model || turn.runtime;
  const isModelOfRuntime =
    model && (runtime.models.length === 0 ? turn.runtime === "native" : runtime.models.includes(model));
  if (isModelOfRuntime) return model;
  if (turn.runtime === "native") return model || sessionModel || runtime.models[0] || runtime.label;
  return runtime.label;
}
