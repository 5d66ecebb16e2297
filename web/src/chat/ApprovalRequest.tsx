import type { ApprovalQuestion } from "@/chat/chatEvents";
import { useI18n, type MessageKey } from "@/i18n";

const CHOICE_LABELS: Record<string, MessageKey> = { once: "chat.choice.once", session: "chat.choice.session", always: "chat.choice.always", deny: "chat.choice.deny" };

/** The question a turn asks before a tool writes or runs, with a button for each answer. */
export function ApprovalRequest({ question, answer }: { question: ApprovalQuestion; answer: (question: string, choice: string) => void }) {
  const { t } = useI18n();
  return (
    <div className={question.dangerous ? "approval-request dangerous" : "approval-request"} role="alertdialog" aria-label={t("chat.approval")}>
      <p><strong>{question.text}</strong></p>
      {typeof question.detail === "string" && question.detail && <pre tabIndex={0}>{question.detail}</pre>}
      <div className="row">
        {question.choices.map((choice) => (
          <button key={choice} className={choice === "deny" ? "button danger" : "button primary"} onClick={() => answer(question.question, choice)}>{CHOICE_LABELS[choice] ? t(CHOICE_LABELS[choice]) : choice}</button>
        ))}
      </div>
    </div>
  );
}
