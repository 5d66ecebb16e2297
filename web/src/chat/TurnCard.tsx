import { memo } from "react";
import { type AnswerApproval, ApprovalRequest } from "@/chat/ApprovalRequest";
import type { Part, TurnView } from "@/chat/chatView";
import { FolderMissing, isFolderMissing } from "@/chat/FolderMissing";
import { useMessages } from "@/chat/messages";
import { TaskPlan } from "@/chat/TaskPlan";
import { ToolCallCard } from "@/chat/ToolCallCard";
import { TurnError } from "@/chat/TurnError";
import { TurnFooter } from "@/chat/TurnFooter";
import { TurnProgress } from "@/chat/TurnProgress";
import { UserMessage } from "@/chat/UserMessage";
import type { TurnActions } from "@/chat/useTurnActions";
import { Icon } from "@/components/Icon";
import { Markdown } from "@/components/Markdown";
import css from "./TurnCard.module.css";

interface Props {
  turn: TurnView;
  session: string;
  model: string; // the session's own
  isLast: boolean;
  isLive: boolean;
  targetSeq: number; // the message of this turn that a link leads to
  answerApproval?: AnswerApproval;
  actions?: TurnActions;
}

/** One turn: the request, its context, tool calls, answer, approval and usage. */
export const TurnCard = memo(function TurnCard({
  turn,
  session,
  model,
  isLast,
  isLive,
  targetSeq,
  answerApproval,
  actions,
}: Props) {
  const isRunning = isLive && turn.status === "";
  return (
    <article
      className={css.turn}
      data-turn={turn.key}
      aria-live={isLast ? "polite" : undefined}
      aria-busy={isLast ? isRunning : undefined}
    >
      {turn.userMessage && (
        <UserMessage
          message={turn.userMessage}
          session={session}
          isTarget={targetSeq === turn.userMessage.seq}
          resend={actions && ((text) => actions.resend(turn, text))}
        />
      )}
      {turn.contextBlocks.length > 0 && <RecalledContext turn={turn} />}
      {turn.tasks.length > 0 && <TaskPlan tasks={turn.tasks} />}
      {foldSummarised(turn).map((group) =>
        group.isSummarised ? (
          <SummarisedParts key={group.parts[0]!.seq} parts={group.parts} isRunning={isRunning} targetSeq={targetSeq} />
        ) : (
          group.parts.map((part, index) => (
            <PartView key={getPartKey(part, index)} part={part} isRunning={isRunning} targetSeq={targetSeq} />
          ))
        ),
      )}
      {turn.steers.map((steer, index) => (
        <p key={index} className={css.turnNote}>
          <Icon name="arrow" size={14} /> {steer}
        </p>
      ))}
      {turn.reasoning && <Reasoning text={turn.reasoning} />}
      {isRunning && <TurnProgress turn={turn} />}
      {isRunning && turn.question && answerApproval && (
        <ApprovalRequest question={turn.question} session={session} answer={answerApproval} />
      )}
      {turn.error &&
        (isLast && actions && isFolderMissing(turn.error) ? (
          <FolderMissing session={session} message={turn.error.message} again={() => actions.askAgain(turn)} />
        ) : (
          <TurnError error={turn.error} retry={isLast && actions ? () => actions.retry(turn) : null} />
        ))}
      {turn.warnings.map((warning) => (
        <p key={warning} className={css.turnNote}>
          <Icon name="alert" size={14} /> {warning}
        </p>
      ))}
      {turn.status && turn.status !== "completed" && !turn.error && <TurnStatus status={turn.status} />}
      {turn.status && <TurnFooter turn={turn} sessionModel={model} actions={actions} />}
    </article>
  );
});

const getPartKey = (part: Part, index: number): string =>
  part.kind === "tool" ? part.id : `${part.kind}${part.seq || index}`;

/** Consecutive parts that were summarised for the model, together. A turn that is folded as a whole is not folded twice. */
function foldSummarised(turn: TurnView): Array<{ isSummarised: boolean; parts: Part[] }> {
  if (turn.userMessage?.compacted) return [{ isSummarised: false, parts: turn.parts }];
  const groups: Array<{ isSummarised: boolean; parts: Part[] }> = [];
  for (const part of turn.parts) {
    const last = groups.at(-1);
    if (last?.isSummarised === part.isSummarised) last.parts.push(part);
    else groups.push({ isSummarised: part.isSummarised, parts: [part] });
  }
  return groups;
}

function SummarisedParts({ parts, isRunning, targetSeq }: { parts: Part[]; isRunning: boolean; targetSeq: number }) {
  const { t } = useMessages();
  return (
    <details className={css.summarisedParts} open={parts.some((part) => part.seq === targetSeq) || undefined}>
      <summary>
        <Icon name="box" size={15} /> {t("chat.summarised.steps", { n: parts.length })}
      </summary>
      {parts.map((part, index) => (
        <PartView key={getPartKey(part, index)} part={part} isRunning={isRunning} targetSeq={targetSeq} />
      ))}
    </details>
  );
}

function PartView({ part, isRunning, targetSeq }: { part: Part; isRunning: boolean; targetSeq: number }) {
  if (part.kind === "tool") return <ToolCallCard call={part} isLive={isRunning} isTarget={targetSeq === part.seq} />;
  if (part.kind === "reasoning") return <Reasoning text={part.text} />;
  return (
    <div className={css.answer} data-seq={part.seq} data-target={targetSeq === part.seq || undefined}>
      <Markdown text={part.text} />
    </div>
  );
}

function Reasoning({ text }: { text: string }) {
  const { t } = useMessages();
  return (
    <details className={css.reasoning}>
      <summary>
        <Icon name="bulb" size={15} /> {t("chat.reasoning")}
      </summary>
      <p>{text}</p>
    </details>
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

function TurnStatus({ status }: { status: string }) {
  const { t } = useMessages();
  const key = status === "cancelled" ? "chat.cancelled" : status === "interrupted" ? "chat.interrupted" : "chat.failed";
  return <p className={css.turnNote}>{t(key)}</p>;
}
