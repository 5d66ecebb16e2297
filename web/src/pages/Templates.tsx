import { useCallback, useEffect, useState } from "react";
import { getJson, request, sendJson, wasAborted } from "@/api/http";
import { Dialog } from "@/components/Dialog";
import { Trouble } from "@/components/Trouble";
import { count, useWords } from "@/i18n";
import { follow } from "@/router";

interface Example {
  tool_name: string;
  arguments: Record<string, unknown>;
  result: string;
}
interface Template {
  name: string;
  task_type: string;
  description: string;
  examples: Example[];
  usage_count: number;
}
interface Suggestion {
  id: string;
  sessions: number;
  score: number;
  requests: string[];
  evidence: Array<{ session: string; row: number }>;
  home: string;
  template: Template;
}
interface Group {
  sessions: number;
  success: number | null;
  turns: number | null;
  tokens: number | null;
}
interface Benefit {
  name: string;
  with: Group;
  without: Group;
  verdict: string;
}
interface Preview {
  text: string;
  tokens: number;
  left_out: string[];
}

const BASE = "/api/plugins/templates";

export default function Templates() {
  const { t } = useWords();
  const [templates, setTemplates] = useState<Template[] | null>(null);
  const [broken, setBroken] = useState<Array<{ name: string; problem: string }>>([]);
  const [waiting, setWaiting] = useState<Suggestion[]>([]);
  const [benefits, setBenefits] = useState<Benefit[]>([]);
  const [preview, setPreview] = useState<(Preview & { name: string }) | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const load = useCallback(async (signal?: AbortSignal) => {
    try {
      const [shelf, inbox, stats] = await Promise.all([
        getJson<{ templates: Template[]; unreadable: Array<{ name: string; problem: string }> }>(`${BASE}/templates`, signal),
        getJson<{ suggestions: Suggestion[] }>(`${BASE}/suggestions`, signal),
        getJson<{ templates: Benefit[] }>(`${BASE}/stats`, signal),
      ]);
      setTemplates(shelf.templates);
      setBroken(shelf.unreadable);
      setWaiting(inbox.suggestions);
      setBenefits(stats.templates);
    } catch (problem) {
      if (!wasAborted(problem)) setError(problem);
    }
  }, []);
  useEffect(() => {
    const leaving = new AbortController();
    void load(leaving.signal);
    return () => leaving.abort();
  }, [load]);
  const change = async (work: () => Promise<unknown>) => {
    setError(null);
    setBusy(true);
    try {
      await work();
      await load();
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  const at = (name: string) => `${BASE}/templates/${encodeURIComponent(name)}`;
  const look = (name: string) => sendJson<Preview>("POST", `${at(name)}/preview`, { messages: [], tools: [] }).then((made) => setPreview({ ...made, name }), setError);
  return (
    <div className="page">
      <header className="page-head"><h1>{t("nav.templates")}</h1><button className="button" disabled={busy} onClick={() => void change(() => sendJson("POST", `${BASE}/suggestions/mine`))}>{busy ? t("loading") : t("templates.mine")}</button></header>
      <p className="dim">{t("templates.about")}</p>
      <Trouble error={error} />
      {waiting.length > 0 && (
        <section>
          <h2>{t("templates.inbox")}</h2>
          {waiting.map((one) => (
            <div key={one.id} className="card">
              <p><strong>{one.template.name}</strong> <span className="pill">{one.template.task_type}</span> <span className="dim">{t("templates.seen", { n: one.sessions })}</span></p>
              {one.requests.length > 0 && <p className="dim">“{one.requests[0]}”</p>}
              <p className="mono dim">{one.template.examples.map((step) => step.tool_name).join(" → ")}</p>
              <Proof of={one} />
              <div className="row">
                <button className="button primary" disabled={busy} onClick={() => void change(() => sendJson("POST", `${BASE}/suggestions/${one.id}/approve`, {}))}>{t("templates.approve")}</button>
                <button className="button" disabled={busy} onClick={() => void change(() => sendJson("POST", `${BASE}/suggestions/${one.id}/reject`, {}))}>{t("templates.reject")}</button>
                <button className="button danger" disabled={busy} onClick={() => void change(() => sendJson("POST", `${BASE}/suggestions/${one.id}/reject`, { never: true }))}>{t("templates.never")}</button>
              </div>
            </div>
          ))}
        </section>
      )}
      <section>
        <h2>{t("templates.library")}</h2>
        {templates?.length === 0 && <p className="empty">{t("templates.none")}</p>}
        {broken.map((one) => <p key={one.name} className="problem-text">{one.name}: {one.problem}</p>)}
        {templates?.map((one) => (
          <div key={one.name} className="card">
            <div className="row"><h3 className="grow">{one.name}</h3><span className="pill">{one.task_type}</span><span className="dim">{t("templates.used", { n: one.usage_count })}</span></div>
            <p>{one.description}</p>
            <p className="mono dim">{one.examples.map((step) => step.tool_name).join(" → ")}</p>
            <With benefit={benefits.find((other) => other.name === one.name)} />
            <div className="row"><button className="button" onClick={() => void look(one.name)}>{t("templates.preview")}</button><button className="button danger" disabled={busy} onClick={() => void change(() => request(at(one.name), { method: "DELETE" }))}>{t("sessions.delete")}</button></div>
          </div>
        ))}
      </section>
      {preview && (
        <Dialog label={t("templates.preview")} close={() => setPreview(null)} wide closeLabel={t("action.close")}>
          <h2>{preview.name}</h2>
          <p className="dim">{t("templates.tokens", { n: preview.tokens })}</p>
          <pre className="code" tabIndex={0}>{preview.text}</pre>
          {preview.left_out.map((one) => <p key={one} className="dim">{one}</p>)}
        </Dialog>
      )}
    </div>
  );
}

function With({ benefit }: { benefit: Benefit | undefined }) {
  const { t, language } = useWords();
  if (!benefit) return null;
  const said = (group: Group) => `${count(group.sessions, language)} · ${group.success === null ? "–" : `${Math.round(100 * group.success)}%`} · ${group.tokens === null ? "–" : count(Math.round(group.tokens), language)} tok`;
  return <p className="dim">{t("templates.with")} {said(benefit.with)} · {t("templates.without")} {said(benefit.without)} <span className="pill">{benefit.verdict}</span></p>;
}

/** The sessions whose runs were judged; of another program's home only their names can be told. */
function Proof({ of: { evidence, home } }: { of: Suggestion }) {
  const { t } = useWords();
  return (
    <p className="dim proof">
      {t("templates.proven")}{" "}
      {evidence.map(({ session }) => home ? <span key={session} className="mono">{session} </span> : <a key={session} className="mono" href={`/sessions/${encodeURIComponent(session)}`} onClick={follow}>{session} </a>)}
      {home && <span>({home})</span>}
    </p>
  );
}
