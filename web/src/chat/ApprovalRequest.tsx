import { useEffect, useState } from "react";
import { isAbortError } from "@/api/http";
import type { ApprovalQuestion } from "@/chat/chatEvents";
import { type Covers, conversationApi } from "@/chat/conversationApi";
import { revealText } from "@/chat/exactText";
import { type MessageKey, useMessages } from "@/chat/messages";
import css from "./chat.module.css";

const CHOICE_LABELS: Record<string, MessageKey> = {
  once: "chat.choice.once",
  session: "chat.choice.session",
  always: "chat.choice.always",
  deny: "chat.choice.deny",
};

export type AnswerApproval = (question: string, choice: string, covers?: Covers) => void;

/** The question a turn asks before a tool writes or runs, with a button for each answer. It shows exactly what will run; until
 * that has arrived, and where it cannot be shown, the question can only be denied. */
export function ApprovalRequest({
  question,
  session,
  answer,
}: {
  question: ApprovalQuestion;
  session: string;
  answer: AnswerApproval;
}) {
  const { t } = useMessages();
  const { exact, isMissing } = useExactText(session, question);
  const [isConfirming, setIsConfirming] = useState(false);
  const choices = exact === null ? question.choices.filter((choice) => choice === "deny") : question.choices;
  const shown = exact ?? (typeof question.detail === "string" ? question.detail : "");
  const choose = (choice: string) => (choice === "always" ? setIsConfirming(true) : answer(question.question, choice));
  return (
    <div
      className={question.dangerous ? `${css.approvalRequest} ${css.dangerous}` : css.approvalRequest}
      role="alertdialog"
      aria-label={t("chat.approval")}
    >
      <p>
        <strong>{question.text}</strong>
      </p>
      {shown && <pre tabIndex={0}>{revealText(shown)}</pre>}
      {isMissing && <p className="dim">{t("chat.approval.inexact")}</p>}
      {isConfirming ? (
        <>
          <p>{t("chat.approval.always", { tool: question.tool ?? "" })}</p>
          <div className="row">
            <button className="button primary" onClick={() => answer(question.question, "always", "exact")}>
              {t("chat.approval.exact")}
            </button>
            <button className="button" onClick={() => answer(question.question, "always", "tool")}>
              {t("chat.approval.tool", { tool: question.tool ?? "" })}
            </button>
            <button className="button" onClick={() => setIsConfirming(false)}>
              {t("chat.approval.back")}
            </button>
          </div>
        </>
      ) : (
        <div className="row">
          {choices.map((choice) => (
            <button
              key={choice}
              className={choice === "deny" ? "button danger" : "button primary"}
              onClick={() => choose(choice)}
            >
              {CHOICE_LABELS[choice] ? t(CHOICE_LABELS[choice]) : choice}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

/** The exact text of an open question. It is never part of an event; the event has its hash. */
function useExactText(session: string, question: ApprovalQuestion) {
  const [exact, setExact] = useState<string | null>(null);
  const [isMissing, setIsMissing] = useState(false);
  const { question: id, sha256 } = question;
  useEffect(() => {
    const controller = new AbortController();
    setExact(null);
    setIsMissing(false);
    conversationApi.getQuestion(session, id, controller.signal).then(
      (found) => (found.sha256 === sha256 ? setExact(found.text) : setIsMissing(true)),
      (problem: unknown) => {
        if (!isAbortError(problem)) setIsMissing(true);
      },
    );
    return () => controller.abort();
  }, [session, id, sha256]);
  return { exact, isMissing };
}
