import { useRef, useState, type ClipboardEvent, type DragEvent, type KeyboardEvent } from "react";
import type { Attached, Wish } from "@/chat/conversationApi";
import { Pickers, type Picked } from "@/chat/Pickers";
import { Icon } from "@/components/Icon";
import { useWords } from "@/i18n";

interface Props {
  busy: boolean;
  send: (wish: Wish) => Promise<void>;
  stop: () => void;
  upload: (file: File) => Promise<Attached>;
}

export function Composer({ busy, send, stop, upload }: Props) {
  const { t } = useWords();
  const [text, setText] = useState("");
  const [files, setFiles] = useState<Attached[]>([]);
  const [picked, setPicked] = useState<Picked>({ runtime: "", model: "", template: "" });
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState("");
  const chooser = useRef<HTMLInputElement>(null);

  const add = async (list: Iterable<File>) => {
    setProblem("");
    for (const file of list) {
      try {
        const kept = await upload(file);
        setFiles((before) => [...before, kept]);
      } catch (error) {
        setProblem(error instanceof Error ? error.message : String(error));
      }
    }
  };
  const say = async () => {
    if (sending || (!text.trim() && !files.length)) return;
    setSending(true);
    setProblem("");
    try {
      await send({ message: text, attachments: files, ...picked });
      setText("");
      setFiles([]);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error)); // the words stay in the box
    } finally {
      setSending(false);
    }
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void say();
  };
  const pasted = (event: ClipboardEvent) => { if (event.clipboardData.files.length) void add(event.clipboardData.files); };
  const dropped = (event: DragEvent) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    void add(event.dataTransfer.files);
  };

  return (
    <form className="composer" onSubmit={(event) => { event.preventDefault(); void say(); }} onDrop={dropped} onDragOver={(event) => event.preventDefault()}>
      {problem && <p className="problem-text" role="alert">{problem}</p>}
      {files.length > 0 && (
        <ul className="attachments" aria-label={t("chat.attachments")}>
          {files.map((one) => <li key={one.hash} className="pill"><Icon name="clip" size={13} /> {one.name} <button type="button" className="ghost" aria-label={t("chat.unattach", { name: one.name })} onClick={() => setFiles(files.filter((other) => other !== one))}><Icon name="close" size={12} /></button></li>)}
        </ul>
      )}
      <textarea autoFocus rows={Math.min(8, Math.max(2, text.split("\n").length))} placeholder={t("chat.placeholder")} aria-label={t("chat.placeholder")} value={text} onChange={(event) => setText(event.target.value)} onKeyDown={pressed} onPaste={pasted} />
      <div className="row">
        <button type="button" className="ghost" aria-label={t("chat.attach")} title={t("chat.attach")} onClick={() => chooser.current?.click()}><Icon name="clip" /></button>
        <input ref={chooser} type="file" multiple hidden aria-label={t("chat.attach")} onChange={(event) => { void add(event.target.files ?? []); event.target.value = ""; }} />
        <Pickers picked={picked} pick={setPicked} />
        <span className="grow" />
        {busy && <button type="button" className="button danger" onClick={stop}><Icon name="stop" size={16} /> {t("chat.stop")}</button>}
        <button className="button primary" disabled={sending || (!text.trim() && !files.length)}><Icon name="send" size={16} /> {t("chat.send")}</button>
      </div>
    </form>
  );
}
