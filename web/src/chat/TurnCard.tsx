import { memo } from "react";
import { type AnswerApproval, ApprovalRequest } from "@/chat/ApprovalRequest";
import { AttachmentLink } from "@/chat/AttachmentLink";
import type { TurnView } from "@/chat/chatView";
import { type MessageKey, useMessages } from "@/chat/messages";
import { TaskPlan } from "@/chat/TaskPlan";
import { ToolCallCard } from "@/chat/ToolCallCard";
import { Icon } from "@/components/Icon";
import { Markdown } from "@/components/Markdown";
import { formatNumber } from "@/i18n";
import css from "./chat.module.css";

/** One turn: the request, its context, tool calls, answer, approval and usage. */
export const TurnCard = memo(function TurnCard({
  turn,
  session,
  isLive,
  answerApproval,
}: {
  turn: TurnView;
  session: string;
  isLive: boolean;
  answerApproval?: AnswerApproval;
}) {
  if (turn.isUndone) return null;
  const isRunning = isLive && turn.status === "";
  return (
    <article className={css.turn} data-turn={turn.key}>
      {turn.userMessage && <UserMessage turn={turn} session={session} />}
      {turn.contextBlocks.length > 0 && <RecalledContext turn={turn} />}
      {turn.tasks.length > 0 && <TaskPlan tasks={turn.tasks} />}
      {turn.parts.map((part, index) =>
        part.kind === "text" ? (
          <div key={index} className="answer">
            <Markdown text={part.text} />
          </div>
        ) : (
          <ToolCallCard key={part.id} call={part} isLive={isRunning} />
        ),
      )}
      {turn.steers.map((steer, index) => (
        <p key={index} className={css.turnNote}>
          <Icon name="arrow" size={14} /> {steer}
        </p>
      ))}
      {isRunning && <TurnProgress turn={turn} />}
      {isRunning && turn.question && answerApproval && (
        <ApprovalRequest question={turn.question} session={session} answer={answerApproval} />
      )}
      {turn.error && <TurnError turn={turn} />}
      {turn.status && turn.status !== "completed" && !turn.error && <TurnStatus status={turn.status} />}
      {turn.status && <TurnUsage turn={turn} />}
    </article>
  );
});

function UserMessage({ turn, session }: { turn: TurnView; session: string }) {
  const { t } = useMessages();
  if (turn.userMessage!.extra?.internal)
    return (
      <details className={css.recalledContext}>
        <summary>
          <Icon name="wheel" size={15} /> {t("chat.handedover")}
        </summary>
        <p>{turn.userMessage!.content}</p>
      </details>
    );
  const parts = (turn.userMessage!.parts ?? []).filter(
    (part) => part["type"] !== "text" && typeof part["hash"] === "string",
  );
  return (
    <div className={css.userMessage}>
      <div className={css.bubble}>
        {turn.userMessage!.content}
        {parts.map((part, index) => (
          <AttachmentLink key={index} part={part} session={session} />
        ))}
      </div>
    </div>
  );
}

function RecalledContext({ turn }: { turn: TurnView }) {
  const { t } = useMessages();
  return (
    <details className={css.recalledContext}>
      <summary>
        <Icon name="bulb" size={15} /> {t("chat.recalled", { n: turn.contextBlocks.length })}
      </summary>
      <ul>
        {turn.contextBlocks.map((block, index) => (
          <li key={index}>
            <strong>{block.title}</strong> <span className="pill">{block.kind}</span>{" "}
            <span className="dim">{block.reason}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

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

function TurnProgress({ turn }: { turn: TurnView }) {
  const { t } = useMessages();
  return (
    <div className={css.turnProgress} role="status">
      <span className={css.dots} aria-hidden="true">
        <i />
        <i />
        <i />
      </span>{" "}
      {t(STAGE_LABELS[turn.stage] ?? "chat.stage.running")}
      {turn.reasoning && (
        <details>
          <summary>{t("chat.reasoning")}</summary>
          <p>{turn.reasoning}</p>
        </details>
      )}
    </div>
  );
}

function TurnError({ turn }: { turn: TurnView }) {
  const { code, message, hint } = turn.error!;
  return (
    <div className="card problem" role="alert">
      <p>
        <strong>{message}</strong> <span className="dim mono">{code}</span>
      </p>
      {hint && <p className="dim">{hint}</p>}
    </div>
  );
}

function TurnStatus({ status }: { status: string }) {
  const { t } = useMessages();
  return (
    <p className={css.turnNote}>
      {status === "cancelled"
        ? t("chat.cancelled")
        : status === "interrupted"
          ? t("chat.interrupted")
          : t("chat.failed")}
    </p>
  );
}

function TurnUsage({ turn }: { turn: TurnView }) {
  const { language } = useMessages();
  const { input_tokens: input, output_tokens: output, cost_usd: cost, seconds } = turn.usage as Record<string, unknown>;
  const facts = [
    turn.model || turn.runtime,
    typeof seconds === "number" ? `${seconds.toFixed(1)} s` : "",
    typeof input === "number" && input > 0
      ? `${formatNumber(input, language)} → ${formatNumber(Number(output ?? 0), language)} tokens`
      : "",
    typeof cost === "number" ? `$${cost.toFixed(4)}` : "",
  ].filter(Boolean);
  return facts.length ? <p className={css.turnUsage}>{facts.join(" · ")}</p> : null;
}
