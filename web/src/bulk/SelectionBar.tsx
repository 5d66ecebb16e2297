import { useState } from "react";
import type { Session } from "@/api/types";
import { type Changes, changeSessions, type ExportFormat, exportSessions } from "@/bulk/bulkActions";
import { useMessages } from "@/bulk/messages";
import { TagSessionsDialog } from "@/bulk/TagSessionsDialog";
import { MAX_SELECTED, type Selection } from "@/bulk/useSelection";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon, type IconName } from "@/components/Icon";
import { Menu } from "@/components/Menu";
import { showToast } from "@/components/Toasts";
import { formatNumber } from "@/i18n";
import css from "./SelectionBar.module.css";

type Action = "archive" | "unarchive" | "tag" | "trash" | "restore";
const FORMATS: ExportFormat[] = ["markdown", "html", "jsonl"];

interface Props {
  selection: Selection;
  view: string; // "", "archived" or "trash"
  onChange: () => void;
}

/** How many sessions are selected, and what can be done with all of them. */
export function SelectionBar({ selection, view, onChange }: Props) {
  const { t, language } = useMessages();
  const [done, setDone] = useState<number | null>(null); // of those that are being changed
  const [isTagging, setIsTagging] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const sessions = [...selection.sessions.values()];
  const count = sessions.length;
  const isIdle = count > 0 && done === null;

  const finish = () => {
    setDone(null);
    onChange();
  };
  const change = async (action: Action, forward: (one: Session) => Changes, back: (one: Session) => Changes) => {
    setError(null);
    setDone(0);
    const { changed, failed, problem } = await changeSessions(sessions, forward, setDone);
    const undo = () => void changeSessions(changed, back).then(onChange);
    if (changed.length) showToast(t(`bulk.done.${action}`, { n: changed.length }), undo);
    if (failed) setError(new Error(t("bulk.failed", { n: failed, why: problem })));
    else selection.clear();
    finish();
  };
  const archive = (archived: boolean) =>
    void change(
      archived ? "archive" : "unarchive",
      () => ({ archived }),
      (one) => ({ archived: one.archived }),
    );
  const trash = (trashed: boolean) =>
    void change(
      trashed ? "trash" : "restore",
      () => ({ trashed }),
      () => ({ trashed: !trashed }),
    );
  const tag = (tags: string[]) =>
    change(
      "tag",
      (one) => ({ tags: [...new Set([...one.tags, ...tags])] }),
      (one) => ({ tags: one.tags }),
    );
  const save = (format: ExportFormat) => {
    setError(null);
    setDone(0);
    exportSessions(sessions, format, setDone)
      .then(() => showToast(t("bulk.done.export", { n: count })), setError)
      .finally(() => setDone(null));
  };
  const selectAll = () =>
    void selection.selectAll().then((hasMore) => {
      if (hasMore) showToast(t("bulk.all.limit", { n: formatNumber(MAX_SELECTED, language) }));
    }, setError);

  return (
    <section className={css.selectionBar} aria-label={t("bulk.bar")}>
      <button className="ghost" aria-label={t("action.cancel")} title={t("action.cancel")} onClick={selection.clear}>
        <Icon name="close" size={18} />
      </button>
      <strong role="status">
        {done === null
          ? t("bulk.count", { n: formatNumber(count, language) })
          : t("bulk.progress", { n: done, of: count })}
      </strong>
      <button className="button" onClick={selectAll}>
        {t("bulk.all")}
      </button>
      <span className="grow" />
      {view === "trash" ? (
        <BarButton icon="undo" label={t("bulk.restore")} isEnabled={isIdle} run={() => trash(false)} />
      ) : (
        <>
          <BarButton
            icon="box"
            label={t(view === "archived" ? "bulk.unarchive" : "bulk.archive")}
            isEnabled={isIdle}
            run={() => archive(view !== "archived")}
          />
          <BarButton icon="hash" label={t("bulk.tag")} isEnabled={isIdle} run={() => setIsTagging(true)} />
          <BarButton icon="trash" label={t("bulk.trash")} isEnabled={isIdle} run={() => trash(true)} />
        </>
      )}
      {isIdle && (
        <Menu
          label={t("bulk.export")}
          entries={FORMATS.map((format) => ({
            label: t(`bulk.export.${format}`),
            icon: "download",
            run: () => save(format),
          }))}
        />
      )}
      <ErrorMessage error={error} />
      {isTagging && <TagSessionsDialog save={tag} close={() => setIsTagging(false)} />}
    </section>
  );
}

interface ButtonProps {
  icon: IconName;
  label: string;
  isEnabled: boolean;
  run: () => void;
}

function BarButton({ icon, label, isEnabled, run }: ButtonProps) {
  return (
    <button className="button" aria-label={label} title={label} disabled={!isEnabled} onClick={run}>
      <Icon name={icon} size={16} /> <span className={css.barLabel}>{label}</span>
    </button>
  );
}
