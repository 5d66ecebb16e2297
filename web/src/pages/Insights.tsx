import { useEffect, useMemo, useState } from "react";
import { getJson, wasAborted } from "@/api/http";
import { Chart } from "@/components/Chart";
import { Heat } from "@/components/Heat";
import { Trouble } from "@/components/Trouble";
import { count, useWords, type Key } from "@/i18n";
import { follow } from "@/router";

interface Sums {
  sessions: number;
  messages: number;
  tool_calls: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  priced_sessions: number;
}
interface Brief {
  id: string;
  title: string;
  source: string;
  cost_usd?: number;
  seconds?: number;
}
interface Figures {
  totals: Sums;
  days: Array<Sums & { day: string }>;
  by_model: Array<Sums & { name: string }>;
  by_source: Array<Sums & { name: string }>;
  by_project: Array<Sums & { name: string }>;
  most_expensive: Brief[];
  longest: Brief[];
}
interface Tools {
  sessions: number;
  tools: Array<{ tool: string; worked: number; failed: number }>;
}

const money = (value: number | null | undefined, unknown: string): string => (value === null || value === undefined ? unknown : `$${value.toFixed(2)}`);

export default function Insights() {
  const { t, language } = useWords();
  const [days, setDays] = useState(365);
  const [found, setFound] = useState<Figures | null>(null);
  const [tools, setTools] = useState<Tools | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const leaving = new AbortController();
    const failed = (problem: unknown) => { if (!wasAborted(problem)) setError(problem); };
    getJson<Figures>(`/api/plugins/dashboard/insights?days=${days}`, leaving.signal).then(setFound, failed);
    getJson<Tools>("/api/plugins/dashboard/tools", leaving.signal).then(setTools, failed);
    return () => leaving.abort();
  }, [days]);
  const x = useMemo(() => (found?.days ?? []).map((one) => Date.parse(one.day) / 1000), [found]);
  const tokens = useMemo(() => (found?.days ?? []).map((one) => one.input_tokens + one.output_tokens || null), [found]);
  const costs = useMemo(() => (found?.days ?? []).map((one) => one.cost_usd), [found]);
  const tiles: Array<[Key, string, string?]> = found
    ? [["nav.sessions", count(found.totals.sessions, language)], ["settings.messages", count(found.totals.messages, language)], ["insights.tokens", count(found.totals.input_tokens + found.totals.output_tokens, language)], ["insights.cost", money(found.totals.cost_usd, t("insights.unknown")), t("insights.priced", { n: count(found.totals.priced_sessions, language), of: count(found.totals.sessions, language) })]]
    : [];
  return (
    <div className="page">
      <header className="page-head">
        <h1>{t("nav.insights")}</h1>
        <select aria-label={t("insights.range")} value={days} onChange={(event) => setDays(Number(event.target.value))}>
          {[30, 90, 365, 3660].map((one) => <option key={one} value={one}>{one === 3660 ? t("insights.ever") : t("insights.days", { n: one })}</option>)}
        </select>
      </header>
      <Trouble error={error} />
      {!found && !error && <p role="status" className="dim">{t("loading")}</p>}
      {found && (
        <>
          <dl className="tiles">{tiles.map(([label, value, hint]) => <div key={label} className="card"><dt>{t(label)}</dt><dd>{value}{hint && <small className="dim">{hint}</small>}</dd></div>)}</dl>
          <section className="card"><h2>{t("insights.activity")}</h2><Heat days={found.days} /></section>
          <div className="two">
            <section className="card"><h2>{t("insights.tokens.day")}</h2>{tokens.some((one) => one !== null) ? <Chart x={x} y={tokens} label={t("insights.tokens")} /> : <p className="empty">{t("insights.none")}</p>}</section>
            <section className="card"><h2>{t("insights.cost.day")}</h2>{costs.some((one) => one !== null) ? <Chart x={x} y={costs} label={t("insights.cost")} money /> : <p className="empty">{t("insights.nocost")}</p>}</section>
          </div>
          <div className="two">
            <Ranking title={t("insights.model")} rows={found.by_model} />
            <Ranking title={t("insights.source")} rows={found.by_source} />
          </div>
          <Ranking title={t("insights.project")} rows={found.by_project} />
          <ToolRates tools={tools} />
          <div className="two">
            <Top title={t("insights.expensive")} rows={found.most_expensive} value={(one) => money(one.cost_usd, "")} />
            <Top title={t("insights.longest")} rows={found.longest} value={(one) => duration(one.seconds ?? 0)} />
          </div>
        </>
      )}
    </div>
  );
}

function Ranking({ title, rows }: { title: string; rows: Array<Sums & { name: string }> }) {
  const { t, language } = useWords();
  const most = Math.max(1, ...rows.map((one) => one.sessions));
  return (
    <section className="card">
      <h2>{title}</h2>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={title}>
        <table>
          <thead><tr><th>{t("settings.name")}</th><th><span className="visually-hidden">%</span></th><th className="number">{t("nav.sessions")}</th><th className="number">{t("insights.tokens")}</th><th className="number">{t("insights.cost")}</th></tr></thead>
          <tbody>{rows.slice(0, 12).map((one) => <tr key={one.name}><td>{one.name || <span className="dim">{t("insights.untold")}</span>}</td><td width="25%"><span className="share-bar" style={{ width: `${(100 * one.sessions) / most}%` }} /></td><td className="number">{count(one.sessions, language)}</td><td className="number">{count(one.input_tokens + one.output_tokens, language)}</td><td className="number">{money(one.cost_usd, "–")}</td></tr>)}</tbody>
        </table>
      </div>
    </section>
  );
}

function ToolRates({ tools }: { tools: Tools | null }) {
  const { t, language } = useWords();
  if (!tools?.tools.length) return null;
  return (
    <section className="card">
      <h2>{t("insights.tools")}</h2>
      <p className="dim">{t("insights.tools.how", { n: count(tools.sessions, language) })}</p>
      <table>
        <thead><tr><th>{t("filter.tool")}</th><th><span className="visually-hidden">%</span></th><th className="number">{t("insights.worked")}</th><th className="number">{t("insights.calls")}</th></tr></thead>
        <tbody>
          {tools.tools.slice(0, 15).map((one) => {
            const all = one.worked + one.failed;
            return <tr key={one.tool}><td className="mono">{one.tool}</td><td width="35%"><div className="rate"><span style={{ width: `${(100 * one.worked) / all}%` }} /></div></td><td className="number">{Math.floor((100 * one.worked) / all)}%</td><td className="number">{count(all, language)}</td></tr>;
          })}
        </tbody>
      </table>
    </section>
  );
}

function Top({ title, rows, value }: { title: string; rows: Brief[]; value: (one: Brief) => string }) {
  const { t } = useWords();
  return (
    <section className="card">
      <h2>{title}</h2>
      {rows.length ? <table><tbody>{rows.map((one) => <tr key={one.id}><td><a href={`/sessions/${encodeURIComponent(one.id)}`} onClick={follow}>{one.title || one.id}</a></td><td className="number">{value(one)}</td></tr>)}</tbody></table> : <p className="empty">{t("insights.none")}</p>}
    </section>
  );
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${(seconds / 3600).toFixed(1)} h` : `${Math.round(seconds / 86_400)} d`;
}
