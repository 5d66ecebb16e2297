import { type ClipboardEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import type { Session } from "@/api/types";
import { CommandMenu } from "@/chat/CommandMenu";
import type { ReportUpload, TurnRequest } from "@/chat/conversationApi";
import { FileList } from "@/chat/FileList";
import { useMessages } from "@/chat/messages";
import { TurnOptionsPicker } from "@/chat/TurnOptionsPicker";
import type { ChatCommands } from "@/chat/useChatCommands";
import { useDraft } from "@/chat/useDraft";
import { useDroppedFiles } from "@/chat/useDroppedFiles";
import { useTurnOptions } from "@/chat/useTurnOptions";
import { type AskBoth, CompareButton } from "@/compare/CompareButton";
import { Icon } from "@/components/Icon";
import css from "./Composer.module.css";

interface Props {
  id: string;
  session: Session | null;
  isBusy: boolean;
  isElsewhere: boolean; // another surface drives the session; sending takes it over
  returned: string; // words of messages that were taken back
  commands: ChatCommands;
  send: (request: TurnRequest, files: File[], report: ReportUpload) => Promise<void>;
  compare: (message: string, files: File[], choices: Parameters<AskBoth>[0]) => Promise<void>;
  stop: () => void;
}

const MAX_FILE_BYTES = 30_000_000; // what the server takes in one body

/** Where a message is written: the draft is kept, files can be picked, pasted or dropped anywhere, `/` lists the commands. */
export function Composer({ id, session, isBusy, isElsewhere, returned, commands, send, compare, stop }: Props) {
  const { t } = useMessages();
  const [text, setText] = useDraft(id);
  const [files, setFiles] = useState<File[]>([]);
  const [options, setOptions] = useTurnOptions(id);
  const [isSending, setIsSending] = useState(false);
  const [uploaded, setUploaded] = useState(0); // the part of the files that is sent
  const [problem, setProblem] = useState("");
  const box = useRef<HTMLTextAreaElement>(null);
  const fileInput = useRef<HTMLInputElement>(null);
  const addFiles = (added: File[]) => {
    const large = added.find((file) => file.size > MAX_FILE_BYTES);
    setProblem(large ? t("chat.attachments.large", { name: large.name }) : "");
    setFiles((before) => [...before, ...added.filter((file) => file.size <= MAX_FILE_BYTES)]);
  };
  const isDragging = useDroppedFiles(addFiles);
  useGrowingBox(box, text);
  useEffect(() => {
    if (!returned) return;
    setText([text.trim(), returned].filter(Boolean).join("\n\n"));
    box.current?.focus();
  }, [returned]);

  const submit = async () => {
    if (isSending || (!text.trim() && !files.length)) return;
    setIsSending(true);
    setUploaded(0);
    setProblem("");
    try {
      if (commands.find(text)) setOptions({ ...options, ...(await commands.run(text)) });
      else await send({ message: await commands.fill(text), attachments: [], ...options }, files, setUploaded);
      setText("");
      setFiles([]);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error)); // the text stays in the box
    } finally {
      setIsSending(false);
      box.current?.focus();
    }
  };
  const handleKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing || event.defaultPrevented) return;
    event.preventDefault();
    void submit();
  };
  const handlePaste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length) addFiles([...event.clipboardData.files]);
  };
  const canSend = !isSending && (text.trim() !== "" || files.length > 0);
  return (
    <form
      className={css.composer}
      data-dragging={isDragging || undefined}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {problem && (
        <p className="problem-text" role="alert">
          {problem}
        </p>
      )}
      <FileList
        files={files}
        remove={(file) => setFiles(files.filter((other) => other !== file))}
        uploaded={isSending ? uploaded : null}
      />
      <CommandMenu text={text} commands={commands.list} choose={(name) => setText(`${name} `)} box={box} />
      <div className={css.composerBox}>
        <textarea
          ref={box}
          autoFocus
          rows={1}
          placeholder={isDragging ? t("chat.drop") : t("chat.placeholder")}
          aria-label={t("chat.placeholder")}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={handleKey}
          onPaste={handlePaste}
        />
        <div className={css.composerRow}>
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
              addFiles([...(event.target.files ?? [])]);
              event.target.value = "";
            }}
          />
          <TurnOptionsPicker options={options} onChange={setOptions} session={session} />
          <CompareButton
            current={options.model}
            isEnabled={canSend && !isBusy && !commands.find(text)}
            size={18}
            ask={async (choices) => {
              await compare(text, files, choices);
              setText("");
              setFiles([]);
            }}
          />
          <span className="grow" />
          {isBusy && (
            <button
              type="button"
              className={css.stopButton}
              onClick={stop}
              aria-label={t("chat.stop")}
              title={t("chat.stop")}
            >
              <Icon name="stop" size={15} />
            </button>
          )}
          <button
            className={css.sendButton}
            disabled={!canSend}
            aria-label={t(isElsewhere ? "chat.send.here" : "chat.send")}
            title={t(isElsewhere ? "chat.send.here" : "chat.send")}
          >
            <Icon name={isSending ? "spinner" : "send"} size={18} />
          </button>
        </div>
      </div>
    </form>
  );
}

const MAX_BOX_PX = 260;

/** Lets the box grow with its text. */
function useGrowingBox(box: React.RefObject<HTMLTextAreaElement | null>, text: string): void {
  useEffect(() => {
    const element = box.current!;
    element.style.height = "auto";
    element.style.height = `${Math.min(MAX_BOX_PX, element.scrollHeight)}px`;
  }, [text]);
}
