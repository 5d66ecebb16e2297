import { useMessages } from "@/chat/messages";
import { Icon } from "@/components/Icon";
import css from "./FileList.module.css";

/** The files that go along with the next message, each with its size. */
export function FileList({
  files,
  remove,
  isSending,
}: {
  files: File[];
  remove: (file: File) => void;
  isSending: boolean;
}) {
  const { t } = useMessages();
  if (!files.length) return null;
  return (
    <ul className={css.attachments} aria-label={t("chat.attachments")} aria-busy={isSending}>
      {files.map((file, index) => (
        <li key={index} className="pill">
          <Icon name="clip" size={13} /> {file.name} <span className="dim">{formatSize(file.size)}</span>
          <button
            type="button"
            className="ghost"
            aria-label={t("chat.attachments.remove", { name: file.name })}
            onClick={() => remove(file)}
          >
            <Icon name="close" size={12} />
          </button>
        </li>
      ))}
      {isSending && <li className="dim">{t("chat.attachments.sending")}</li>}
    </ul>
  );
}

function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
