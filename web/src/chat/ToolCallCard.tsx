import { memo } from "react";
import type { ToolCallView } from "@/chat/chatView";
import { revealText } from "@/chat/exactText";
import { useMessages } from "@/chat/messages";
import { copyText } from "@/components/clipboard";
import { Icon } from "@/components/Icon";
import css from "./ToolCallCard.module.css";

interface Props {
  call: ToolCallView;
  isLive: boolean;
  isTarget: boolean;
}

/** A tool call, folded: name, summary and duration; inside, its input and output. */
export const ToolCallCard = memo(function ToolCallCard({ call, isLive, isTarget }: Props) {
  const { t } = useMessages();
  const isRunning = isLive && call.status === "running";
  const summary = revealText(call.preview || summariseArguments(call.arguments));
  return (
    <details
      className={`${css.toolCall} ${isRunning ? css.running : call.status}`}
      data-tool={call.name}
      data-seq={call.seq}
      data-target={isTarget || undefined}
      open={isTarget || undefined}
    >
      <summary>
        <Icon name="tool" size={15} /> <strong>{call.name}</strong> <span className={css.toolSummary}>{summary}</span>
        <span className={css.toolDuration}>
          {isRunning
            ? t("chat.tool.running")
            : call.seconds !== null && call.status !== "denied"
              ? `${call.seconds.toFixed(call.seconds < 1 ? 2 : 1)} s`
              : ""}
        </span>
        {call.status === "failed" && <span className="pill bad">{t("chat.tool.failed")}</span>}
        {call.status === "denied" && <span className="pill">{t("chat.tool.denied")}</span>}
        {isLive && call.status === "waiting" && <span className="pill">{t("chat.tool.waiting")}</span>}
      </summary>
      {call.arguments !== undefined && <DataBlock label={t("chat.tool.in")} text={formatJson(call.arguments)} />}
      {call.lines.length > 0 && call.result === null && (
        <DataBlock label={t("chat.tool.out")} text={call.lines.join("\n")} />
      )}
      {call.error && !call.result?.includes(call.error) && (
        <p className={`problem-text ${css.toolError}`}>{call.error}</p>
      )}
      {call.result !== null && <DataBlock label={t("chat.tool.out")} text={call.result} />}
    </details>
  );
});

const MAX_SHOWN_CHARACTERS = 20_000;

function DataBlock({ label, text }: { label: string; text: string }) {
  const { t } = useMessages();
  return (
    <div className={css.toolData}>
      <p className="dim">
        {label}{" "}
        <button className="ghost" onClick={() => void copyText(text)} aria-label={t("action.copy")}>
          <Icon name="copy" size={13} />
        </button>
      </p>
      <pre tabIndex={0}>
        {text.length > MAX_SHOWN_CHARACTERS
          ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}\n… ${text.length - MAX_SHOWN_CHARACTERS}`
          : text}
      </pre>
    </div>
  );
}

const formatJson = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

function summariseArguments(value: unknown): string {
  if (typeof value !== "object" || value === null) return typeof value === "string" ? value.slice(0, 120) : "";
  const first = Object.values(value).find((field) => typeof field === "string");
  return typeof first === "string" ? first.split("\n")[0]!.slice(0, 120) : "";
}
