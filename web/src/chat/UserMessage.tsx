import { useState } from "react";
import type { Message } from "@/api/types";
import { AttachmentLink } from "@/chat/AttachmentLink";
import { useMessages } from "@/chat/messages";
import { copyText } from "@/components/clipboard";
import { Icon } from "@/components/Icon";
import { showToast } from "@/components/Toasts";
import { formatDateTime, formatTime } from "@/i18n";
import { useSentences } from "@/serverTexts/serverTexts";
import css from "./UserMessage.module.css";

const HANDOVER = "[Sojourn: this session"; // how the note of a hand-off begins

interface Props {
  message: Message;
  session: string;
  isTarget: boolean;
  resend?: (text: string) => void;
}

/** What the person asked, with its files, when, and the buttons to copy it or to ask again with other words. */
export function UserMessage({ message, session, isTarget, resend }: Props) {
  const { t, language } = useMessages();
  const translate = useSentences();
  const [isEditing, setIsEditing] = useState(false);
  const content = message.content ?? "";
  if (message.extra?.internal && !content.startsWith(HANDOVER))
    return (
      <p className={css.handoverNote} data-seq={message.seq}>
        {translate(content)}
      </p>
    );
  if (message.extra?.internal)
    return (
      <details className={css.handoverNote} data-seq={message.seq}>
        <summary>
          <Icon name="wheel" size={15} /> {t("chat.handedover")}
        </summary>
        <p>{message.content}</p>
      </details>
    );
  const files = (message.parts ?? []).filter((part) => part["type"] !== "text" && typeof part["hash"] === "string");
  const text = (message.content ?? "").replace(files.length ? /\n?\[attachment(: .*)?\]\s*/g : /$^/, "");
  if (isEditing) return <EditForm text={text} submit={resend!} cancel={() => setIsEditing(false)} />;
  return (
    <div className={css.userMessage}>
      <div className={css.bubble} data-seq={message.seq} data-target={isTarget || undefined}>
        {text}
        {files.map((part, index) => (
          <AttachmentLink key={index} part={part} session={session} />
        ))}
      </div>
      <div className={css.bubbleActions}>
        <time
          className="dim"
          dateTime={message.timestamp ?? undefined}
          title={formatDateTime(message.timestamp, language)}
        >
          {formatTime(message.timestamp, language)}
        </time>
        <button
          className="ghost"
          aria-label={t("chat.copy.message")}
          title={t("chat.copy.message")}
          onClick={() => void copyText(text).then(() => showToast(t("action.copied")))}
        >
          <Icon name="copy" size={15} />
        </button>
        {resend && (
          <button
            className="ghost"
            aria-label={t("chat.edit")}
            title={t("chat.edit")}
            onClick={() => setIsEditing(true)}
          >
            <Icon name="pencil" size={15} />
          </button>
        )}
      </div>
    </div>
  );
}

function EditForm({ text, submit, cancel }: { text: string; submit: (text: string) => void; cancel: () => void }) {
  const { t } = useMessages();
  const [words, setWords] = useState(text);
  return (
    <form
      className={css.editForm}
      onSubmit={(event) => {
        event.preventDefault();
        submit(words);
      }}
    >
      <textarea
        autoFocus
        rows={Math.min(10, words.split("\n").length + 1)}
        aria-label={t("chat.edit")}
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") cancel();
        }}
      />
      <div className="row">
        <span className="dim grow">{t("chat.edit.hint")}</span>
        <button type="button" className="button" onClick={cancel}>
          {t("action.cancel")}
        </button>
        <button className="button primary" disabled={!words.trim()}>
          {t("chat.edit.send")}
        </button>
      </div>
    </form>
  );
}
