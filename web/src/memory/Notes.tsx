import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { getJson, request, sendJson } from "@/api/http";
import { queryClient } from "@/api/query";
import { Dialog } from "@/components/Dialog";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { showToast } from "@/components/Toasts";
import { useMessages } from "@/memory/messages";
import { useSentences } from "@/serverTexts/serverTexts";
import css from "./SkillForm.module.css";

interface NoteList {
  folder: string;
  notes: Array<{ name: string; sections: number }>;
  problems: string[];
}
interface FoundSection {
  name: string;
  heading: string;
  text: string;
  reason: string;
}

const MEMORY_API = "/api/plugins/memory";
const getNoteUrl = (name: string) => `${MEMORY_API}/notes/${name.split("/").map(encodeURIComponent).join("/")}`;
const toNoteName = (file: string) => `${file.replace(/\.(txt|text|md|markdown)$/i, "").replace(/^\.+/, "")}.md`;

/** Documents the agent may use: Markdown notes, added, tried and removed. What fits a request goes along with it. */
export function Notes() {
  const { t } = useMessages();
  const { data, error, refetch } = useQuery(
    { queryKey: ["notes"], queryFn: ({ signal }) => getJson<NoteList>(`${MEMORY_API}/notes`, signal) },
    queryClient,
  );
  const [open, setOpen] = useState<{ name: string; text: string; isNew: boolean } | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const files = useRef<HTMLInputElement>(null);
  const save = async (name: string, text: string) => {
    await sendJson("PUT", getNoteUrl(name), { text });
    await refetch();
  };
  const addFiles = async (chosen: File[]) => {
    setFailure(null);
    for (const file of chosen) await save(toNoteName(file.name), await file.text());
    if (chosen.length) showToast(t("notes.added", { n: chosen.length }));
  };
  const remove = async (name: string) => {
    const { text } = await getJson<{ text: string }>(getNoteUrl(name));
    await request(getNoteUrl(name), { method: "DELETE" });
    showToast(t("notes.removed", { name }), () => void save(name, text).catch(setFailure));
    await refetch();
  };
  return (
    <section className="card" aria-label={t("notes.title")}>
      <h2>{t("notes.title")}</h2>
      <p className="dim">
        {t("notes.about")} {data && <span className="mono">{data.folder}</span>}
      </p>
      <div className="row">
        <button className="button" onClick={() => setOpen({ name: "", text: "", isNew: true })}>
          <Icon name="plus" size={16} /> {t("notes.new")}
        </button>
        <button className="button" onClick={() => files.current?.click()}>
          <Icon name="file" size={16} /> {t("notes.addfiles")}
        </button>
        <input
          ref={files}
          type="file"
          multiple
          hidden
          accept=".md,.markdown,.txt"
          aria-label={t("notes.addfiles")}
          onChange={(event) => {
            void addFiles([...(event.target.files ?? [])]).catch(setFailure);
            event.target.value = "";
          }}
        />
      </div>
      <ErrorMessage error={error ?? failure} />
      {data?.problems.map((problem) => (
        <p key={problem} className="problem-text">
          {problem}
        </p>
      ))}
      {data?.notes.length === 0 && <p className="empty-state">{t("notes.none")}</p>}
      <ul className="link-list">
        {data?.notes.map((note) => (
          <li key={note.name} className="row">
            <span className="grow">
              {note.name} <span className="dim">{t("notes.sections", { n: note.sections })}</span>
            </span>
            <button
              className="ghost"
              aria-label={t("notes.edit", { name: note.name })}
              onClick={() =>
                void getJson<{ text: string }>(getNoteUrl(note.name)).then(
                  ({ text }) => setOpen({ name: note.name, text, isNew: false }),
                  setFailure,
                )
              }
            >
              <Icon name="pencil" size={16} />
            </button>
            <button
              className="ghost"
              aria-label={t("notes.remove", { name: note.name })}
              onClick={() => void remove(note.name).catch(setFailure)}
            >
              <Icon name="trash" size={16} />
            </button>
          </li>
        ))}
      </ul>
      {Boolean(data?.notes.length) && <NoteTest />}
      {open && <NoteDialog note={open} save={save} close={() => setOpen(null)} />}
    </section>
  );
}

/** Which sections a request would bring up. */
function NoteTest() {
  const { t } = useMessages();
  const translate = useSentences();
  const [words, setWords] = useState("");
  const [found, setFound] = useState<FoundSection[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const url = `${MEMORY_API}/note-search?request=${encodeURIComponent(words)}`;
        getJson<FoundSection[]>(url).then(setFound, setError);
      }}
    >
      <div className="row">
        <input
          className="grow"
          placeholder={t("notes.request")}
          aria-label={t("notes.request")}
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        <button className="button" disabled={!words.trim()}>
          {t("notes.test")}
        </button>
      </div>
      <ErrorMessage error={error} />
      {found?.length === 0 && <p className="dim">{t("notes.nomatch")}</p>}
      {found && found.length > 0 && (
        <ol>
          {found.map((section, index) => (
            <li key={index}>
              <strong>{section.heading || section.name}</strong> <span className="dim">{section.name}</span>
              <br />
              <span className="dim">{translate(section.reason)}</span>
            </li>
          ))}
        </ol>
      )}
    </form>
  );
}

interface DialogProps {
  note: { name: string; text: string; isNew: boolean };
  save: (name: string, text: string) => Promise<void>;
  close: () => void;
}

function NoteDialog({ note, save, close }: DialogProps) {
  const { t } = useMessages();
  const [name, setName] = useState(note.name);
  const [text, setText] = useState(note.text);
  const [error, setError] = useState<unknown>(null);
  const label = note.isNew ? t("notes.new") : note.name;
  return (
    <Dialog label={label} close={close} isWide closeLabel={t("action.close")}>
      <h2>{label}</h2>
      <form
        className={css.skillForm}
        onSubmit={(event) => {
          event.preventDefault();
          save(note.isNew ? toNoteName(name.trim()) : note.name, text).then(close, setError);
        }}
      >
        {note.isNew && (
          <label>
            {t("notes.name")}
            <input placeholder="garden.md" value={name} onChange={(event) => setName(event.target.value)} />
          </label>
        )}
        <label>
          {t("notes.text")}
          <textarea className="mono" rows={14} value={text} onChange={(event) => setText(event.target.value)} />
        </label>
        <ErrorMessage error={error} />
        <div className="row">
          <button className="button primary" disabled={!name.trim() || !text.trim()}>
            {t("action.save")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
