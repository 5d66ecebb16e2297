import { useState } from "react";
import { sendJson } from "@/api/http";
import type { Session } from "@/api/types";
import { Dialog } from "@/components/Dialog";
import { Icon } from "@/components/Icon";
import { Trouble } from "@/components/Trouble";
import { useWords } from "@/i18n";
import { go } from "@/router";

/** The title, and what can be done with a session. */
export function Actions({ session, changed }: { session: Session; changed: (session: Session | null) => void }) {
  const { t } = useWords();
  const [editing, setEditing] = useState<"title" | "tags" | null>(null);
  const [deleting, setDeleting] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const address = `/api/sessions/${encodeURIComponent(session.id)}`;

  const change = async (some: Record<string, unknown>) => {
    setError(null);
    setEditing(null);
    try {
      changed(await sendJson<Session>("PATCH", address, { ...some, revision: session.revision }));
    } catch (problem) {
      setError(problem);
    }
  };
  const remove = async () => {
    setDeleting(false);
    try {
      await sendJson("DELETE", address);
      changed(null);
      go("/sessions");
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <>
      <div className="row title-row">
        {editing === "title" ? (
          <Edit label={t("sessions.rename")} value={session.title ?? ""} save={(title) => void change({ title: title.trim() || null })} cancel={() => setEditing(null)} />
        ) : (
          <h1 className="grow">{session.title ?? (session.preview || session.id)}</h1>
        )}
        <button className="ghost" aria-label={t("sessions.rename")} title={t("sessions.rename")} onClick={() => setEditing("title")}><Icon name="pencil" size={17} /></button>
        <button className="ghost" aria-label={t("sessions.tags")} title={t("sessions.tags")} onClick={() => setEditing("tags")}>#</button>
        <button className="ghost" aria-label={t("sessions.pin")} title={t("sessions.pin")} aria-pressed={session.pinned} onClick={() => void change({ pinned: !session.pinned })}><Icon name="pin" size={17} /></button>
        <button className="ghost" aria-label={t("sessions.archive")} title={t("sessions.archive")} aria-pressed={session.archived} onClick={() => void change({ archived: !session.archived })}><Icon name="box" size={17} /></button>
        <a className="ghost" href={`${address}/export?format=markdown`} download aria-label={t("sessions.export")} title={t("sessions.export")}><Icon name="download" size={17} /></a>
        <a className="ghost mono" href={`${address}/export?format=jsonl`} download aria-label={t("sessions.exportjson")} title={t("sessions.exportjson")}>{"{}"}</a>
        <button className="ghost" aria-label={t("sessions.delete")} title={t("sessions.delete")} onClick={() => setDeleting(true)}><Icon name="trash" size={17} /></button>
      </div>
      {editing === "tags" && <Edit label={t("sessions.tags")} value={session.tags.join(", ")} save={(tags) => void change({ tags: tags.split(",").map((one) => one.trim()).filter(Boolean) })} cancel={() => setEditing(null)} />}
      <Trouble error={error} />
      {deleting && (
        <Dialog label={t("sessions.delete")} close={() => setDeleting(false)} closeLabel={t("action.close")}>
          <h2>{t("sessions.delete.ask")}</h2>
          <p>{session.title ?? session.preview}</p>
          <p className="dim">{t("sessions.delete.hint")}</p>
          <div className="row"><button className="button danger" onClick={() => void remove()}>{t("sessions.delete")}</button> <button className="button" onClick={() => setDeleting(false)}>{t("action.cancel")}</button></div>
        </Dialog>
      )}
    </>
  );
}

function Edit({ label, value, save, cancel }: { label: string; value: string; save: (value: string) => void; cancel: () => void }) {
  const { t } = useWords();
  const [text, setText] = useState(value);
  return (
    <form className="row grow" onSubmit={(event) => { event.preventDefault(); save(text); }}>
      <input autoFocus className="grow" aria-label={label} value={text} onChange={(event) => setText(event.target.value)} onKeyDown={(event) => { if (event.key === "Escape") cancel(); }} />
      <button className="button primary">{t("action.save")}</button>
    </form>
  );
}
