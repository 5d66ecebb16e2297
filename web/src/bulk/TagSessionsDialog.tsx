import { useState } from "react";
import { useMessages } from "@/bulk/messages";
import { Dialog } from "@/components/Dialog";

/** Asks for tags to add to the selected sessions. */
export function TagSessionsDialog({ save, close }: { save: (tags: string[]) => Promise<void>; close: () => void }) {
  const { t } = useMessages();
  const [text, setText] = useState("");
  const tags = text
    .split(",")
    .map((tag) => tag.trim())
    .filter(Boolean);
  return (
    <Dialog label={t("bulk.tag.add")} close={close} closeLabel={t("action.close")}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (tags.length) void save(tags).then(close);
        }}
      >
        <h2>{t("bulk.tag.add")}</h2>
        <p className="dim">{t("bulk.tag.hint")}</p>
        <div className="row">
          <input
            className="grow"
            autoFocus
            aria-label={t("bulk.tag.add")}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <button className="button primary" disabled={!tags.length}>
            {t("action.add")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
