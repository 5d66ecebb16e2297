import { useEffect, useMemo, useState } from "react";
import { getJson, isAbortError } from "@/api/http";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { formatNumber, type Language } from "@/i18n";
import { BarChart } from "@/insights/BarChart";
import { Heatmap } from "@/insights/Heatmap";
import { type MessageKey, useMessages } from "@/insights/messages";
import { Outcomes, type ToolStats, ToolSuccess } from "@/insights/ToolStats";
import { DAYS_IN_BARS, groupByWeek } from "@/insights/weeks";
import { followLink } from "@/router";
import { getSourceLabel } from "@/sessions/sourceLabels";
import css from "./insights.module.css";

interface UsageTotals {
  sessions: number;
  messages: number;
  tool_calls: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  priced_sessions: number;
}
interface SessionSummary {
  id: string;
  title: string;
  source: string;
  cost_usd?: number;
  seconds?: number;
}
interface InsightsData {
  totals: UsageTotals;
  days: Array<UsageTotals & { day: string }>;
  by_model: Array<UsageTotals & { name: string }>;
  by_source: Array<UsageTotals & { name: string }>;
  by_project: Array<UsageTotals & { name: string }>;
  most_expensive: SessionSummary[];
  longest: SessionSummary[];
}
const labelSource = (row: UsageTotals & { name: string }) => ({ ...row, name: getSourceLabel(row.name) });
const formatMoney = (value: number | null | undefined, unknown: string): string =>
  value === null || value === undefined ? unknown : `$${value.toFixed(2)}`;

export default function Insights() {
  const { t, language } = useMessages();
  const [days, setDays] = useState(365);
  const [insights, setInsights] = useState<InsightsData | null>(null);
  const [tools, setTools] = useState<ToolStats | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const controller = new AbortController();
    const reportFailure = (problem: unknown) => {
      if (!isAbortError(problem)) setError(problem);
    };
    getJson<InsightsData>(`/api/plugins/dashboard/insights?days=${days}`, controller.signal).then(
      setInsights,
      reportFailure,
    );
    getJson<ToolStats>("/api/plugins/dashboard/tools", controller.signal).then(setTools, reportFailure);
    return () => controller.abort();
  }, [days]);
  const isWeekly = days > DAYS_IN_BARS;
  const [tokens, costs] = useMemo(() => {
    const rows = insights?.days ?? [];
    const x = rows.map((day) => Date.parse(day.day) / 1000);
    const series = [
      { x, y: rows.map((day) => day.input_tokens + day.output_tokens || null) },
      { x, y: rows.map((day) => day.cost_usd) },
    ] as const;
    return isWeekly ? [groupByWeek(series[0]), groupByWeek(series[1])] : series;
  }, [insights, isWeekly]);
  const tiles: Array<[MessageKey, string, string?]> = insights
    ? [
        ["nav.sessions", formatNumber(insights.totals.sessions, language)],
        ["settings.messages", formatNumber(insights.totals.messages, language)],
        ["insights.tokens", formatNumber(insights.totals.input_tokens + insights.totals.output_tokens, language)],
        [
          "insights.cost",
          formatMoney(insights.totals.cost_usd, t("insights.unknown")),
          t("insights.priced", {
            n: formatNumber(insights.totals.priced_sessions, language),
            of: formatNumber(insights.totals.sessions, language),
          }),
        ],
      ]
    : [];
  return (
    <div className="page">
      <header className="page-header">
        <h1>{t("nav.insights")}</h1>
        <select aria-label={t("insights.range")} value={days} onChange={(event) => setDays(Number(event.target.value))}>
          {[30, 90, 365, 3660].map((range) => (
            <option key={range} value={range}>
              {range === 3660 ? t("insights.alltime") : t("insights.days", { n: range })}
            </option>
          ))}
        </select>
      </header>
      <ErrorMessage error={error} />
      {!insights && !error && (
        <p role="status" className="dim">
          {t("loading")}
        </p>
      )}
      {insights?.totals.sessions === 0 && (
        <div className="empty-state">
          <p>{t("insights.empty")}</p>
          <a className="button" href="/import" onClick={followLink}>
            <Icon name="download" size={16} /> {t("nav.import")}
          </a>
        </div>
      )}
      {insights && insights.totals.sessions > 0 && (
        <>
          <dl className={css.statTiles}>
            {tiles.map(([label, value, hint]) => (
              <div key={label} className="card">
                <dt>{t(label)}</dt>
                <dd>
                  {value}
                  {hint && <small className="dim">{hint}</small>}
                </dd>
              </div>
            ))}
          </dl>
          <section className="card">
            <h2>{t("insights.activity")}</h2>
            <Heatmap days={insights.days} />
          </section>
          <div className="two-columns">
            <section className="card">
              <h2>{t(isWeekly ? "insights.tokens.week" : "insights.tokens.day")}</h2>
              {tokens.y.some((token) => token !== null) ? (
                <BarChart {...tokens} label={t("insights.tokens")} />
              ) : (
                <p className="empty-state">{t("insights.none")}</p>
              )}
            </section>
            <section className="card">
              <h2>{t(isWeekly ? "insights.cost.week" : "insights.cost.day")}</h2>
              {costs.y.some((cost) => cost !== null) ? (
                <BarChart {...costs} label={t("insights.cost")} isMoney />
              ) : (
                <p className="empty-state">{t("insights.cost.none")}</p>
              )}
            </section>
          </div>
          <div className="two-columns">
            <UsageTable title={t("insights.model")} rows={insights.by_model} />
            <UsageTable title={t("insights.source")} rows={insights.by_source.map(labelSource)} />
          </div>
          <UsageTable title={t("insights.project")} rows={insights.by_project} />
          <ToolSuccess stats={tools} />
          <Outcomes stats={tools} />
          <div className="two-columns">
            <SessionRanking
              title={t("insights.expensive")}
              rows={insights.most_expensive}
              value={(session) => formatMoney(session.cost_usd, "")}
            />
            <SessionRanking
              title={t("insights.longest")}
              rows={insights.longest}
              value={(session) => formatDuration(session.seconds ?? 0, language)}
            />
          </div>
        </>
      )}
    </div>
  );
}

function UsageTable({ title, rows }: { title: string; rows: Array<UsageTotals & { name: string }> }) {
  const { t, language } = useMessages();
  const countTokens = (row: UsageTotals) => row.input_tokens + row.output_tokens;
  const most = Math.max(1, ...rows.map(countTokens));
  if (!rows.length)
    return (
      <section className="card">
        <h2>{title}</h2>
        <p className="empty-state">{t("insights.none")}</p>
      </section>
    );
  return (
    <section className="card">
      <h2>{title}</h2>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={title}>
        <table>
          <thead>
            <tr>
              <th>{t("settings.name")}</th>
              <th>
                <span className="visually-hidden">%</span>
              </th>
              <th className="number">{t("nav.sessions")}</th>
              <th className="number">{t("insights.tokens")}</th>
              <th className="number">{t("insights.cost")}</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, 12).map((row) => (
              <tr key={row.name}>
                <td>{row.name || <span className="dim">{t("insights.unrecorded")}</span>}</td>
                <td width="25%">
                  <span className={css.usageBar} style={{ width: `${(100 * countTokens(row)) / most}%` }} />
                </td>
                <td className="number">{formatNumber(row.sessions, language)}</td>
                <td className="number">{formatNumber(countTokens(row), language)}</td>
                <td className="number">{formatMoney(row.cost_usd, "–")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function SessionRanking({
  title,
  rows,
  value,
}: {
  title: string;
  rows: SessionSummary[];
  value: (session: SessionSummary) => string;
}) {
  const { t } = useMessages();
  return (
    <section className="card">
      <h2>{title}</h2>
      {rows.length ? (
        <table>
          <tbody>
            {rows.map((session) => (
              <tr key={session.id}>
                <td>
                  <a href={`/chat/${encodeURIComponent(session.id)}`} onClick={followLink}>
                    {session.title || session.id}
                  </a>
                </td>
                <td className="number">{value(session)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <p className="empty-state">{t("insights.none")}</p>
      )}
    </section>
  );
}

function formatDuration(seconds: number, language: Language): string {
  const format = (value: number, unit: string, maximumFractionDigits = 0) =>
    value.toLocaleString(language === "zh" ? "zh-CN" : "en", { style: "unit", unit, maximumFractionDigits });
  if (seconds < 90) return format(seconds, "second");
  if (seconds < 5400) return format(seconds / 60, "minute");
  return seconds < 172_800 ? format(seconds / 3600, "hour", 1) : format(seconds / 86_400, "day");
}
