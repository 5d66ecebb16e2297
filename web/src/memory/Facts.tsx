import { useCallback, useEffect, useState } from "react";
import { getJson, isAbortError, sendJson } from "@/api/http";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { showToast } from "@/components/Toasts";
import { formatDateTime } from "@/i18n";
import { useMessages } from "@/memory/messages";

interface Fact {
  id: string;
  text: string;
  why: string;
  source_session: string | null;
  revision: number;
  updated_at: string;
}

const FACTS_API = "/api/plugins/memory/facts";

/** The facts a person asked to be remembered: add, edit, delete. */
export function Facts() {
  const { t, language } = useMessages();
  const [facts, setFacts] = useState<Fact[] | null>(null);
  const [newFact, setNewFact] = useState("");
  const [editing, setEditing] = useState<{ id: string; text: string } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const load = useCallback(
    (signal?: AbortSignal) =>
      getJson<Fact[]>(FACTS_API, signal).then(setFacts, (problem: unknown) => {
        if (!isAbortError(problem)) setError(problem);
      }),
    [],
  );
  useEffect(() => {
    const controller = new AbortController();
    void load(controller.signal);
    return () => controller.abort();
  }, [load]);
  const save = (work: Promise<unknown>) => {
    setError(null);
    work.then(() => {
      setEditing(null);
      return load();
    }, setError);
  };
  const forget = (fact: Fact) => {
    const undo = () => save(sendJson("POST", FACTS_API, { text: fact.text, why: fact.why }));
    save(sendJson("DELETE", `${FACTS_API}/${fact.id}`).then(() => showToast(t("memory.forgotten"), undo)));
  };
  return (
    <section className="card">
      <h2>{t("memory.facts")}</h2>
      <p className="dim">{t("memory.facts.about")}</p>
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          if (newFact.trim()) {
            save(sendJson("POST", FACTS_API, { text: newFact }).then(() => setNewFact("")));
          }
        }}
      >
        <input
          className="grow"
          placeholder={t("memory.new")}
          aria-label={t("memory.new")}
          value={newFact}
          onChange={(event) => setNewFact(event.target.value)}
        />
        <button className="button primary" disabled={!newFact.trim()}>
          <Icon name="plus" size={16} /> {t("memory.add")}
        </button>
      </form>
      <ErrorMessage error={error} />
      {facts?.length === 0 && <p className="empty-state">{t("memory.none")}</p>}
      <ul className="link-list">
        {facts?.map((fact) => (
          <li key={fact.id} className="row">
            {editing?.id === fact.id ? (
              <form
                className="row grow"
                onSubmit={(event) => {
                  event.preventDefault();
                  save(sendJson("PATCH", `${FACTS_API}/${fact.id}`, { text: editing.text, revision: fact.revision }));
                }}
              >
                <input
                  autoFocus
                  className="grow"
                  aria-label={t("memory.edit")}
                  value={editing.text}
                  onKeyDown={(event) => event.key === "Escape" && setEditing(null)}
                  onChange={(event) => setEditing({ id: fact.id, text: event.target.value })}
                />
                <button className="button primary">{t("action.save")}</button>
              </form>
            ) : (
              <span className="grow">
                {fact.text} {fact.why && <span className="dim">· {fact.why}</span>}
              </span>
            )}
            <span className="dim">{formatDateTime(fact.updated_at, language)}</span>
            <button
              className="ghost"
              aria-label={t("memory.edit")}
              onClick={() => setEditing({ id: fact.id, text: fact.text })}
            >
              <Icon name="pencil" size={16} />
            </button>
            <button className="ghost" aria-label={t("memory.delete")} onClick={() => forget(fact)}>
              <Icon name="trash" size={16} />
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
