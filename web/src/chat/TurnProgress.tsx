import type { TurnView } from "@/chat/chatView";
import { type MessageKey, useMessages } from "@/chat/messages";
import css from "./TurnProgress.module.css";

const STAGE_LABELS: Record<string, MessageKey> = {
  prepare: "chat.stage.prepare",
  queued: "chat.stage.queued",
  running: "chat.stage.running",
  thinking: "chat.stage.thinking",
  tool: "chat.stage.tool",
  task: "chat.stage.running",
  approval: "chat.stage.approval",
  compaction: "chat.stage.compaction",
  memory: "chat.stage.prepare",
  template: "chat.stage.prepare",
  writing: "chat.stage.writing",
};

/** What a running turn is doing; while a failed model is asked again, why and how often. */
export function TurnProgress({ turn }: { turn: TurnView }) {
  const { t } = useMessages();
  const label = turn.retry
    ? t(turn.retry.of ? "chat.stage.retryof" : "chat.stage.retry", {
        n: turn.retry.attempt,
        of: turn.retry.of,
        reason: turn.retry.reason,
      })
    : t(turn.question ? "chat.stage.approval" : (STAGE_LABELS[turn.stage] ?? "chat.stage.running"));
  return (
    <div className={css.turnProgress} role="status">
      <span className={css.dots} aria-hidden="true">
        <i />
        <i />
        <i />
      </span>{" "}
      {label}
    </div>
  );
}
