import { useMessages } from "@/chat/messages";
import { Icon } from "@/components/Icon";
import css from "./FileList.module.css";

/** The files that go along with the next message, each with its size; while they are sent, how far that is. */
export function FileList({
  files,
  remove,
  uploaded,
}: {
  files: File[];
  remove: (file: File) => void;
  uploaded: number | null; // from 0 to 1 while they are sent
}) {
  const { t } = useMessages();
  if (!files.length) return null;
  return (
    <ul className={css.attachments} aria-label={t("chat.attachments")} aria-busy={uploaded !== null}>
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
      {uploaded !== null && (
        <li className={`dim ${css.sending}`}>
          {t("chat.attachments.sending")} <progress value={uploaded} aria-label={t("chat.attachments.sending")} />{" "}
          {Math.floor(uploaded * 100)}%
        </li>
      )}
    </ul>
  );
}

function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
