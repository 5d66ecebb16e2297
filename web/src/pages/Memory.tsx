import { useCallback, useEffect, useState } from "react";
import { getJson, sendJson, wasAborted } from "@/api/http";
import { Icon } from "@/components/Icon";
import { Trouble } from "@/components/Trouble";
import { Markdown } from "@/components/Markdown";
import { Recalled } from "@/memory/Recalled";
import { moment, useWords } from "@/i18n";

interface Fact {
  id: string;
  text: string;
  why: string;
  source_session: string | null;
  revision: number;
  updated_at: string;
}
interface Skill {
  name: string;
  description: string;
  path: string;
  problem: string;
  body?: string;
}
interface Ranked {
  name: string;
  description: string;
  score: number;
  reason: string;
}

const FACTS = "/api/plugins/memory/facts";
const SKILLS = "/api/plugins/skills";

export default function Memory() {
  const { t } = useWords();
  return (
    <div className="page">
      <header className="page-head"><h1>{t("nav.memory")}</h1></header>
      <Facts />
      <Recalled />
      <Skills />
    </div>
  );
}

function Facts() {
  const { t, language } = useWords();
  const [facts, setFacts] = useState<Fact[] | null>(null);
  const [fresh, setFresh] = useState("");
  const [editing, setEditing] = useState<{ id: string; text: string } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const load = useCallback((signal?: AbortSignal) => getJson<Fact[]>(FACTS, signal).then(setFacts, (problem: unknown) => { if (!wasAborted(problem)) setError(problem); }), []);
  useEffect(() => {
    const leaving = new AbortController();
    void load(leaving.signal);
    return () => leaving.abort();
  }, [load]);
  const change = (work: Promise<unknown>) => {
    setError(null);
    work.then(() => { setEditing(null); return load(); }, setError);
  };
  return (
    <section className="card">
      <h2>{t("memory.facts")}</h2>
      <p className="dim">{t("memory.facts.about")}</p>
      <form className="row" onSubmit={(event) => { event.preventDefault(); if (fresh.trim()) { change(sendJson("POST", FACTS, { text: fresh })); setFresh(""); } }}>
        <input className="grow" placeholder={t("memory.new")} aria-label={t("memory.new")} value={fresh} onChange={(event) => setFresh(event.target.value)} />
        <button className="button primary" disabled={!fresh.trim()}><Icon name="plus" size={16} /> {t("memory.add")}</button>
      </form>
      <Trouble error={error} />
      {facts?.length === 0 && <p className="empty">{t("memory.none")}</p>}
      <ul className="recent">
        {facts?.map((one) => (
          <li key={one.id} className="row">
            {editing?.id === one.id ? (
              <form className="row grow" onSubmit={(event) => { event.preventDefault(); change(sendJson("PATCH", `${FACTS}/${one.id}`, { text: editing.text, revision: one.revision })); }}>
                <input autoFocus className="grow" aria-label={t("memory.edit")} value={editing.text} onChange={(event) => setEditing({ id: one.id, text: event.target.value })} />
                <button className="button primary">{t("action.save")}</button>
              </form>
            ) : (
              <span className="grow">{one.text} {one.why && <span className="dim">· {one.why}</span>}</span>
            )}
            <span className="dim">{moment(one.updated_at, language)}</span>
            <button className="ghost" aria-label={t("memory.edit")} onClick={() => setEditing({ id: one.id, text: one.text })}><Icon name="pencil" size={16} /></button>
            <button className="ghost" aria-label={t("memory.delete")} onClick={() => change(sendJson("DELETE", `${FACTS}/${one.id}`))}><Icon name="trash" size={16} /></button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Skills() {
  const { t } = useWords();
  const [skills, setSkills] = useState<Skill[] | null>(null);
  const [open, setOpen] = useState<Skill | null>(null);
  const [request, setRequest] = useState("");
  const [ranked, setRanked] = useState<Ranked[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const leaving = new AbortController();
    getJson<Skill[]>(`${SKILLS}/skills`, leaving.signal).then(setSkills, (problem: unknown) => { if (!wasAborted(problem)) setError(problem); });
    return () => leaving.abort();
  }, []);
  const show = (name: string) => (open?.name === name ? setOpen(null) : getJson<Skill>(`${SKILLS}/skills/${encodeURIComponent(name)}`).then(setOpen, setError));
  return (
    <section className="card">
      <h2>{t("memory.skills")}</h2>
      <form className="row" onSubmit={(event) => { event.preventDefault(); if (request.trim()) getJson<Ranked[]>(`${SKILLS}/why?request=${encodeURIComponent(request)}`).then(setRanked, setError); }}>
        <input className="grow" placeholder={t("memory.why")} aria-label={t("memory.why")} value={request} onChange={(event) => setRequest(event.target.value)} />
        <button className="button" disabled={!request.trim()}>{t("memory.ask")}</button>
      </form>
      <Trouble error={error} />
      {ranked && (ranked.length ? <ol>{ranked.map((one) => <li key={one.name}><strong>{one.name}</strong> <span className="pill">{one.score.toFixed(2)}</span> <span className="dim">{one.reason}</span></li>)}</ol> : <p className="dim">{t("memory.noskill")}</p>)}
      {skills?.length === 0 && <p className="empty">{t("memory.noskills")}</p>}
      <ul className="recent">
        {skills?.map((one) => (
          <li key={one.path}>
            <div className="row"><span className="grow"><strong>{one.name}</strong> <span className="dim">{one.description}</span>{one.problem && <span className="problem-text"> {one.problem}</span>}</span>{!one.problem && <button className="button" aria-expanded={open?.name === one.name} onClick={() => void show(one.name)}>{t("memory.read")}</button>}</div>
            {open?.name === one.name && <div className="card"><Markdown text={open.body ?? ""} /></div>}
          </li>
        ))}
      </ul>
    </section>
  );
}
