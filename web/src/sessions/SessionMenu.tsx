import { useState } from "react";
import { saveFile } from "@/api/download";
import { sendJson } from "@/api/http";
import type { Session } from "@/api/types";
import { copyText } from "@/components/clipboard";
import { Dialog } from "@/components/Dialog";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Menu, type MenuEntry } from "@/components/Menu";
import { showToast } from "@/components/Toasts";
import { ContinueDialog } from "@/sessions/ContinueDialog";
import { useMessages } from "@/sessions/messages";
import { getSessionUrl } from "@/sessions/sessionLinks";

/** What can be done with a session: tags, pin, archive, export, delete. Each says that it is done, and can be undone. */
export function SessionMenu({ session, onChange }: { session: Session; onChange: (session: Session | null) => void }) {
  const { t } = useMessages();
  const [open, setOpen] = useState<"tags" | "continue" | null>(null);
  const [error, setError] = useState<unknown>(null);
  const url = `/api/sessions/${encodeURIComponent(session.id)}`;
  const save = (format: string, ending: string) =>
    void saveFile(`${url}/export?format=${format}`, `${session.id}.${ending}`).catch(setError);
  const update = async (changes: Record<string, unknown>) => {
    setError(null);
    onChange(await sendJson<Session>("PATCH", url, changes));
  };
  const toggle = (key: "pinned" | "archived") => {
    const value = !session[key];
    const undo = () => void update({ [key]: !value }).catch(setError);
    update({ [key]: value }).then(() => showToast(t(`sessions.${key}.${value ? "yes" : "no"}`), undo), setError);
  };
  const setTrashed = (trashed: boolean) => sendJson<Session>("PATCH", url, { trashed });
  const remove = () =>
    void setTrashed(true).then(() => {
      showToast(t("sessions.deleted"), () => void setTrashed(false).then(onChange, () => undefined));
      onChange(null);
    }, setError);
  const copyLink = () =>
    void copyText(location.origin + getSessionUrl(session.id)).then(
      () => showToast(t("sessions.linkcopied")),
      setError,
    );
  const entries: MenuEntry[] = [
    { label: t(session.pinned ? "sessions.unpin" : "sessions.pin"), icon: "pin", run: () => toggle("pinned") },
    { label: t("sessions.tags"), icon: "hash", run: () => setOpen("tags") },
    {
      label: t(session.archived ? "sessions.unarchive" : "sessions.archive"),
      icon: "box",
      run: () => toggle("archived"),
    },
    { label: t("sessions.copylink"), icon: "link", run: copyLink },
    { label: t("sessions.continue"), icon: "terminal", run: () => setOpen("continue") },
    { label: t("sessions.export"), icon: "download", run: () => save("markdown", "md") },
    { label: t("sessions.exporthtml"), icon: "share", run: () => save("html", "html") },
    { label: t("sessions.exportjson"), icon: "file", run: () => save("jsonl", "jsonl") },
    { label: t("sessions.delete"), icon: "trash", isDanger: true, run: remove },
  ];
  const close = () => {
    setOpen(null);
    setError(null);
  };
  return (
    <>
      <Menu label={t("sessions.actions")} entries={entries} />
      {open === null && error !== null && (
        <Dialog label={t("sessions.actions")} close={close} closeLabel={t("action.close")}>
          <ErrorMessage error={error} />
        </Dialog>
      )}
      {open === "tags" && <TagsDialog session={session} save={(tags) => update({ tags })} close={close} />}
      {open === "continue" && <ContinueDialog session={session} close={close} />}
    </>
  );
}

function TagsDialog({
  session,
  save,
  close,
}: {
  session: Session;
  save: (tags: string[]) => Promise<void>;
  close: () => void;
}) {
  const { t } = useMessages();
  const [text, setText] = useState(session.tags.join(", "));
  const [error, setError] = useState<unknown>(null);
  const submit = () =>
    save(
      text
        .split(",")
        .map((tag) => tag.trim())
        .filter(Boolean),
    ).then(close, setError);
  return (
    <Dialog label={t("sessions.tags")} close={close} closeLabel={t("action.close")}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h2>{t("sessions.tags")}</h2>
        <p className="dim">{t("sessions.tags.hint")}</p>
        <div className="row">
          <input
            className="grow"
            aria-label={t("sessions.tags")}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <button className="button primary">{t("action.save")}</button>
        </div>
        <ErrorMessage error={error} />
      </form>
    </Dialog>
  );
}
