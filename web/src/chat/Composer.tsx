import { type ClipboardEvent, type DragEvent, type KeyboardEvent, useRef, useState } from "react";
import type { Attachment, TurnRequest } from "@/chat/conversationApi";
import { useMessages } from "@/chat/messages";
import { type TurnOptions, TurnOptionsPicker } from "@/chat/TurnOptionsPicker";
import { Icon } from "@/components/Icon";
import css from "./Composer.module.css";

interface Props {
  isBusy: boolean;
  send: (request: TurnRequest) => Promise<void>;
  stop: () => void;
  upload: (file: File) => Promise<Attachment>;
}

export function Composer({ isBusy, send, stop, upload }: Props) {
  const { t } = useMessages();
  const [text, setText] = useState("");
  const [attachments, setAttachments] = useState<Attachment[]>([]);
  const [options, setOptions] = useState<TurnOptions>({ runtime: "", model: "", template: "" });
  const [isSending, setIsSending] = useState(false);
  const [problem, setProblem] = useState("");
  const fileInput = useRef<HTMLInputElement>(null);

  const addFiles = async (newFiles: Iterable<File>) => {
    setProblem("");
    for (const file of newFiles) {
      try {
        const attachment = await upload(file);
        setAttachments((before) => [...before, attachment]);
      } catch (error) {
        setProblem(error instanceof Error ? error.message : String(error));
      }
    }
  };
  const submit = async () => {
    if (isSending || (!text.trim() && !attachments.length)) return;
    setIsSending(true);
    setProblem("");
    try {
      await send({ message: text, attachments, ...options });
      setText("");
      setAttachments([]);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error)); // the text stays in the box
    } finally {
      setIsSending(false);
    }
  };
  const handleKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void submit();
  };
  const handlePaste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length) void addFiles(event.clipboardData.files);
  };
  const handleDrop = (event: DragEvent) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    void addFiles(event.dataTransfer.files);
  };

  return (
    <form
      className={css.composer}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onDrop={handleDrop}
      onDragOver={(event) => event.preventDefault()}
    >
      {problem && (
        <p className="problem-text" role="alert">
          {problem}
        </p>
      )}
      {attachments.length > 0 && (
        <ul className={css.attachments} aria-label={t("chat.attachments")}>
          {attachments.map((attachment) => (
            <li key={attachment.hash} className="pill">
              <Icon name="clip" size={13} /> {attachment.name}{" "}
              <button
                type="button"
                className="ghost"
                aria-label={t("chat.attachments.remove", { name: attachment.name })}
                onClick={() => setAttachments(attachments.filter((other) => other !== attachment))}
              >
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        autoFocus
        rows={Math.min(8, Math.max(2, text.split("\n").length))}
        placeholder={t("chat.placeholder")}
        aria-label={t("chat.placeholder")}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={handleKey}
        onPaste={handlePaste}
      />
      <div className="row">
        <button
          type="button"
          className="ghost"
          aria-label={t("chat.attach")}
          title={t("chat.attach")}
          onClick={() => fileInput.current?.click()}
        >
          <Icon name="clip" />
        </button>
        <input
          ref={fileInput}
          type="file"
          multiple
          hidden
          aria-label={t("chat.attach")}
          onChange={(event) => {
            void addFiles(event.target.files ?? []);
            event.target.value = "";
          }}
        />
        <TurnOptionsPicker options={options} onChange={setOptions} />
        <span className="grow" />
        {isBusy && (
          <button type="button" className="button danger" onClick={stop}>
            <Icon name="stop" size={16} /> {t("chat.stop")}
          </button>
        )}
        <button className="button primary" disabled={isSending || (!text.trim() && !attachments.length)}>
          <Icon name="send" size={16} /> {t("chat.send")}
        </button>
      </div>
    </form>
  );
}
