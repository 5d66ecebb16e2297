import { useState } from "react";
import { sendJson } from "@/api/http";
import { useMessages } from "@/chat/messages";
import { ErrorMessage } from "@/components/ErrorMessage";
import css from "./FolderMissing.module.css";

/** Whether a turn could not begin because the folder of its project was moved, or is on another machine. */
export const isFolderMissing = (error: { message: string }): boolean =>
  /^The folder .* (is not there|does not exist)/.test(error.message);

/** Asks where a session goes on whose folder is gone: in another one, or in one of its own. */
export function FolderMissing({ session, message, again }: { session: string; message: string; again: () => void }) {
  const { t } = useMessages();
  const [folder, setFolder] = useState("");
  const [error, setError] = useState<unknown>(null);
  const choose = (cwd: string | null) =>
    sendJson("PATCH", `/api/sessions/${encodeURIComponent(session)}`, { cwd }).then(again, setError);
  return (
    <form
      className={`card ${css.folderMissing}`}
      role="alert"
      onSubmit={(event) => {
        event.preventDefault();
        void choose(folder.trim());
      }}
    >
      <p>
        <strong>{message}</strong>
      </p>
      <p className="dim">{t("chat.folder.hint")}</p>
      <div className="row">
        <input
          className="grow mono"
          value={folder}
          placeholder="/home/…"
          aria-label={t("chat.folder.label")}
          onChange={(event) => setFolder(event.target.value)}
        />
        <button className="button primary" disabled={!folder.trim()}>
          {t("chat.folder.use")}
        </button>
        <button type="button" className="button" onClick={() => void choose(null)}>
          {t("chat.folder.none")}
        </button>
      </div>
      <ErrorMessage error={error} />
    </form>
  );
}
