import { useState } from "react";
import { Dialog } from "@/components/Dialog";
import { ErrorMessage } from "@/components/ErrorMessage";
import { useMessages } from "@/templates/messages";

/** Asks for another name; one that is refused stays in its box. */
export function RenameDialog({
  name,
  rename,
  close,
}: {
  name: string;
  rename: (name: string) => Promise<void>;
  close: () => void;
}) {
  const { t } = useMessages();
  const [text, setText] = useState(name);
  const [error, setError] = useState<unknown>(null);
  return (
    <Dialog label={t("templates.rename")} close={close} closeLabel={t("action.close")}>
      <h2>{t("templates.rename")}</h2>
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          rename(text.trim()).then(close, setError);
        }}
      >
        <input
          className="grow"
          aria-label={t("settings.name")}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button className="button primary" disabled={!text.trim()}>
          {t("action.save")}
        </button>
      </form>
      <ErrorMessage error={error} />
    </Dialog>
  );
}

/** Asks before a template is deleted for good. */
export function DeleteDialog({ name, remove, close }: { name: string; remove: () => void; close: () => void }) {
  const { t } = useMessages();
  return (
    <Dialog label={t("templates.delete", { name })} close={close} closeLabel={t("action.close")}>
      <h2>{t("templates.delete", { name })}</h2>
      <p>{t("templates.delete.hint")}</p>
      <div className="row">
        <button className="button" autoFocus onClick={close}>
          {t("action.cancel")}
        </button>
        <button
          className="button danger"
          onClick={() => {
            close();
            remove();
          }}
        >
          {t("sessions.delete")}
        </button>
      </div>
    </Dialog>
  );
}
