import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { isAbortError } from "@/api/http";
import type { ApprovalQuestion } from "@/chat/chatEvents";
import { type Covers, conversationApi } from "@/chat/conversationApi";
import { DiffText } from "@/chat/DiffText";
import { revealText } from "@/chat/exactText";
import { type MessageKey, useMessages } from "@/chat/messages";
import { Icon } from "@/components/Icon";
import { useDeadline } from "@/components/useDeadline";
import { useSentences } from "@/serverTexts/serverTexts";
import css from "./ApprovalRequest.module.css";

const CHOICE_LABELS: Record<string, MessageKey> = {
  once: "chat.choice.once",
  session: "chat.choice.session",
  always: "chat.choice.always",
  deny: "chat.choice.deny",
};
const SCOPE_LABELS: Record<string, MessageKey> = {
  sandbox: "chat.scope.sandbox",
  network: "chat.scope.network",
  outside: "chat.scope.outside",
};

const KEY_DELAY_MS = 1000;
const TELLS_SCOPE = /It (can change the workspace only|runs outside the sandbox)/; // in the server's own words

export type AnswerApproval = (question: string, choice: string, covers?: Covers) => void;

interface Props {
  question: ApprovalQuestion;
  session: string;
  answer: AnswerApproval;
}

/** The question a turn asks before a tool writes or runs. It shows exactly what will run; until that has arrived, and where it
 * cannot be shown, the question can only be denied. One button stands out: to allow once, or to deny what is dangerous. With
 * the focus in it, `a` allows once, unless it is dangerous, and `d` denies. */
export function ApprovalRequest({ question, session, answer }: Props) {
  const { t } = useMessages();
  const translate = useSentences();
  const { exact, isMissing } = useExactText(session, question);
  const [isConfirming, setIsConfirming] = useState(false);
  const card = useFocusedCard(exact !== null || isMissing);
  const isDangerous = question.dangerous === true || question.choices[0] === "deny";
  const allowed = exact === null ? ["deny"] : question.choices;
  const [, ask, about] = /^(.*?(?:\?(?=\s|$)|？))?\s*(.*)$/su.exec(translate(question.text))!;
  const ordered = isDangerous ? ["deny", ...allowed.filter((choice) => choice !== "deny")] : allowed;
  const shown = exact ?? (typeof question.detail === "string" ? question.detail : "");
  const choose = (choice: string) => (choice === "always" ? setIsConfirming(true) : answer(question.question, choice));
  const primary = isDangerous || exact === null ? "deny" : "once";
  const isReady = exact !== null || isMissing;
  const readyAt = useRef(Number.POSITIVE_INFINITY);
  useEffect(() => {
    if (isReady) readyAt.current = performance.now();
  }, [isReady]);
  const handleKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isConfirming) return;
    if (performance.now() - readyAt.current < KEY_DELAY_MS) return; // the key may have been meant for the message box
    const choice = event.key === "d" ? "deny" : event.key === "a" && !isDangerous ? "once" : "";
    if (!ordered.includes(choice)) return;
    event.preventDefault();
    answer(question.question, choice);
  };
  const left = useDeadline(question.seconds ?? 0, question.question);
  return (
    <div
      ref={card}
      className={`${css.approvalRequest}${isDangerous ? ` ${css.dangerous}` : ""}`}
      role="alertdialog"
      aria-label={t("chat.approval")}
      tabIndex={-1}
      aria-keyshortcuts={isDangerous || exact === null ? "d" : "a d"}
      onKeyDown={handleKey}
      data-question={question.question}
    >
      <p className={css.approvalTitle}>
        <Icon name="shield" size={18} /> <strong>{ask ?? about}</strong>
      </p>
      {ask && about && <p>{about}</p>}
      {question.scope && !TELLS_SCOPE.test(question.text) && (
        <p className="dim">{t(SCOPE_LABELS[question.scope] ?? "chat.scope.outside")}</p>
      )}
      {shown && <DiffText text={revealText(shown)} />}
      {isMissing && <p className="dim">{t("chat.approval.inexact")}</p>}
      {isConfirming ? (
        <AlwaysForm
          tool={question.tool ?? ""}
          choose={(covers) => answer(question.question, "always", covers)}
          back={() => setIsConfirming(false)}
        />
      ) : (
        <div className={css.approvalChoices}>
          {ordered.map((choice) => (
            <button
              key={choice}
              className={`button${choice === primary ? " primary" : ""}`}
              data-choice={choice}
              onClick={() => choose(choice)}
            >
              {CHOICE_LABELS[choice] ? t(CHOICE_LABELS[choice]) : choice}
            </button>
          ))}
          {left !== null && <span className="dim">{t("chat.approval.left", { n: left })}</span>}
        </div>
      )}
    </div>
  );
}

function AlwaysForm({ tool, choose, back }: { tool: string; choose: (covers: Covers) => void; back: () => void }) {
  const { t } = useMessages();
  return (
    <>
      <p>{t("chat.approval.always", { tool })}</p>
      <div className={css.approvalChoices}>
        <button className="button primary" onClick={() => choose("exact")}>
          {t("chat.approval.exact")}
        </button>
        <button className="button" onClick={() => choose("tool")}>
          {t("chat.approval.tool", { tool })}
        </button>
        <button className="button" onClick={back}>
          {t("chat.approval.back")}
        </button>
      </div>
    </>
  );
}

/** Moves the focus to the question when it can be answered, unless the person is writing something. */
function useFocusedCard(isReady: boolean) {
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = document.activeElement;
    if (isReady && !(box instanceof HTMLTextAreaElement && box.value)) card.current?.focus({ preventScroll: true });
    if (isReady) card.current?.scrollIntoView({ block: "nearest" });
  }, [isReady]);
  return card;
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
