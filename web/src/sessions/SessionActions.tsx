import { useState } from "react";
import { saveFile } from "@/api/download";
import { sendJson } from "@/api/http";
import type { Session } from "@/api/types";
import { Dialog } from "@/components/Dialog";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { navigate } from "@/router";
import { useMessages } from "@/sessions/messages";
import css from "./sessions.module.css";

/** A session's title, and the buttons to rename, tag, pin, archive, export and delete it. */
export function SessionActions({
  session,
  onChange,
}: {
  session: Session;
  onChange: (session: Session | null) => void;
}) {
  const { t } = useMessages();
  const [editing, setEditing] = useState<"title" | "tags" | null>(null);
  const [isDeleting, setIsDeleting] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const url = `/api/sessions/${encodeURIComponent(session.id)}`;

  const save = (format: string, ending: string) =>
    saveFile(`${url}/export?format=${format}`, `${session.id}.${ending}`).catch(setError);
  const update = async (changes: Record<string, unknown>) => {
    setError(null);
    setEditing(null);
    try {
      onChange(await sendJson<Session>("PATCH", url, { ...changes, revision: session.revision }));
    } catch (problem) {
      setError(problem);
    }
  };
  const remove = async () => {
    setIsDeleting(false);
    try {
      await sendJson("DELETE", url);
      onChange(null);
      navigate("/sessions");
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <>
      <div className={`row ${css.titleRow}`}>
        {editing === "title" ? (
          <EditForm
            label={t("sessions.rename")}
            value={session.title ?? ""}
            save={(title) => void update({ title: title.trim() || null })}
            cancel={() => setEditing(null)}
          />
        ) : (
          <h1 className="grow">{session.title ?? (session.preview || session.id)}</h1>
        )}
        <button
          className="ghost"
          aria-label={t("sessions.rename")}
          title={t("sessions.rename")}
          onClick={() => setEditing("title")}
        >
          <Icon name="pencil" size={17} />
        </button>
        <button
          className="ghost"
          aria-label={t("sessions.tags")}
          title={t("sessions.tags")}
          onClick={() => setEditing("tags")}
        >
          #
        </button>
        <button
          className="ghost"
          aria-label={t("sessions.pin")}
          title={t("sessions.pin")}
          aria-pressed={session.pinned}
          onClick={() => void update({ pinned: !session.pinned })}
        >
          <Icon name="pin" size={17} />
        </button>
        <button
          className="ghost"
          aria-label={t("sessions.archive")}
          title={t("sessions.archive")}
          aria-pressed={session.archived}
          onClick={() => void update({ archived: !session.archived })}
        >
          <Icon name="box" size={17} />
        </button>
        <button
          className="ghost"
          aria-label={t("sessions.export")}
          title={t("sessions.export")}
          onClick={() => void save("markdown", "md")}
        >
          <Icon name="download" size={17} />
        </button>
        <button
          className="ghost mono"
          aria-label={t("sessions.exportjson")}
          title={t("sessions.exportjson")}
          onClick={() => void save("jsonl", "jsonl")}
        >
          {"{}"}
        </button>
        <button
          className="ghost"
          aria-label={t("sessions.delete")}
          title={t("sessions.delete")}
          onClick={() => setIsDeleting(true)}
        >
          <Icon name="trash" size={17} />
        </button>
      </div>
      {editing === "tags" && (
        <EditForm
          label={t("sessions.tags")}
          value={session.tags.join(", ")}
          save={(tags) =>
            void update({
              tags: tags
                .split(",")
                .map((tag) => tag.trim())
                .filter(Boolean),
            })
          }
          cancel={() => setEditing(null)}
        />
      )}
      <ErrorMessage error={error} />
      {isDeleting && (
        <Dialog label={t("sessions.delete")} close={() => setIsDeleting(false)} closeLabel={t("action.close")}>
          <h2>{t("sessions.delete.ask")}</h2>
          <p>{session.title ?? session.preview}</p>
          <p className="dim">{t("sessions.delete.hint")}</p>
          <div className="row">
            <button className="button danger" onClick={() => void remove()}>
              {t("sessions.delete")}
            </button>{" "}
            <button className="button" onClick={() => setIsDeleting(false)}>
              {t("action.cancel")}
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function EditForm({
  label,
  value,
  save,
  cancel,
}: {
  label: string;
  value: string;
  save: (value: string) => void;
  cancel: () => void;
}) {
  const { t } = useMessages();
  const [text, setText] = useState(value);
  return (
    <form
      className="row grow"
      onSubmit={(event) => {
        event.preventDefault();
        save(text);
      }}
    >
      <input
        autoFocus
        className="grow"
        aria-label={label}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") cancel();
        }}
      />
      <button className="button primary">{t("action.save")}</button>
    </form>
  );
}
