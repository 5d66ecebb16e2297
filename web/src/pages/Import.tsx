import { useEffect, useState } from "react";
import { getJson, sendJson, wasAborted } from "@/api/http";
import type { FoundHistory } from "@/api/types";
import { Trouble } from "@/components/Trouble";
import { count, useWords } from "@/i18n";
import { follow } from "@/router";

interface State {
  running: boolean;
  source: string;
  home: string;
  done: number;
  of: number;
  error: string;
  hint: string;
  report: { found: number; imported: number; updated: number; unchanged: number; new_messages: number; skipped: Array<[string, string]> } | null;
}

const BASE = "/api/plugins/dashboard/import";

/** Histories of other programs on this machine, and bringing them in. */
export default function Import() {
  const { t, language } = useWords();
  const [found, setFound] = useState<FoundHistory[] | null>(null);
  const [state, setState] = useState<State | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const leaving = new AbortController();
    const failed = (problem: unknown) => { if (!wasAborted(problem)) setError(problem); };
    getJson<FoundHistory[]>("/api/sources", leaving.signal).then(setFound, failed);
    getJson<State>(BASE, leaving.signal).then(setState, failed);
    return () => leaving.abort();
  }, []);
  useEffect(() => {
    if (!state?.running) return;
    const timer = setTimeout(() => getJson<State>(BASE).then(setState, setError), 500);
    return () => clearTimeout(timer);
  }, [state]);
  const bring = (one: FoundHistory) => {
    setError(null);
    sendJson<State>("POST", BASE, { source: one.source, home: one.home }).then(setState, setError);
  };
  return (
    <div className="page">
      <header className="page-head"><h1>{t("nav.import")}</h1></header>
      <p className="dim">{t("import.about")}</p>
      <Trouble error={error} />
      {state && (state.running || state.report || state.error) && <Going state={state} />}
      {found === null && <p role="status" className="dim">{t("welcome.looking")}</p>}
      {found?.length === 0 && <div className="empty"><p>{t("import.none")}</p><p>{t("import.where")} <code>sojourn import PATH</code></p></div>}
      <ul className="histories">
        {found?.map((one) => (
          <li key={`${one.source}:${one.home}`} className="card row">
            <div className="grow">
              <h2>{one.source} {one.version && <span className="pill">{one.version}</span>}</h2>
              <p className="dim mono">{one.home}</p>
              {one.problem ? <p className="problem-text">{one.problem}</p> : <p>{t("import.sessions", { n: count(one.sessions, language), mb: (one.bytes / 1e6).toFixed(1) })}</p>}
            </div>
            <button className="button primary" disabled={Boolean(one.problem) || state?.running} onClick={() => bring(one)}>{t("import.bring")}</button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Going({ state }: { state: State }) {
  const { t, language } = useWords();
  const percent = state.of ? Math.floor((state.done / state.of) * 100) : 0;
  const { report } = state;
  return (
    <div className={state.error ? "card problem" : "card"} role="status">
      <h2>{state.running ? t("import.running", { source: state.source }) : state.error ? t("import.failed") : t("import.done", { source: state.source })}</h2>
      {state.running && <p>{t("import.progress", { done: count(state.done, language), of: count(state.of, language) })}</p>}
      {state.running && <div className="bar" role="progressbar" aria-label={t("nav.import")} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent}><span style={{ width: `${percent}%` }} /></div>}
      {state.error && <p>{state.error} <span className="dim">{state.hint}</span></p>}
      {report && <p>{t("import.report", { found: count(report.found, language), imported: count(report.imported, language), unchanged: count(report.unchanged + report.updated, language), skipped: count(report.skipped.length, language) })} <a href="/sessions" onClick={follow}>{t("nav.sessions")}</a></p>}
      {report && report.skipped.length > 0 && <details><summary>{t("import.skipped")}</summary><ul>{report.skipped.slice(0, 100).map(([id, why]) => <li key={id}><code>{id}</code> {why}</li>)}</ul></details>}
    </div>
  );
}
