import { useState } from "react";
import { formatNumber } from "@/i18n";
import { useMessages } from "@/insights/messages";
import { followLink } from "@/router";
import { getSessionUrl } from "@/sessions/sessionLinks";
import css from "./insights.module.css";

interface Outcome {
  id: string;
  title: string;
  worked: number;
  failed: number;
  outcome: "worked" | "failed";
}

/** What the judge of tool results made of the newest sessions. */
export interface ToolStats {
  sessions: number;
  tools: Array<{ tool: string; worked: number; failed: number }>;
  outcomes: Outcome[];
}

/** How often each tool worked. */
export function ToolSuccess({ stats }: { stats: ToolStats | null }) {
  const { t, language } = useMessages();
  if (!stats?.tools.length) return null;
  return (
    <section className="card">
      <h2>{t("insights.tools")}</h2>
      <p className="dim">{t("insights.tools.about", { n: formatNumber(stats.sessions, language) })}</p>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={t("insights.tools")}>
        <table>
          <thead>
            <tr>
              <th>{t("filter.tool")}</th>
              <th>
                <span className="visually-hidden">%</span>
              </th>
              <th className="number">{t("insights.succeeded")}</th>
              <th className="number">{t("insights.calls")}</th>
            </tr>
          </thead>
          <tbody>
            {stats.tools.slice(0, 15).map((tool) => {
              const all = tool.worked + tool.failed;
              return (
                <tr key={tool.tool}>
                  <td className="mono">{tool.tool}</td>
                  <td width="35%">
                    <SuccessBar share={tool.worked / all} />
                  </td>
                  <td className="number">{Math.floor((100 * tool.worked) / all)}%</td>
                  <td className="number">{formatNumber(all, language)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const FIRST_SHOWN = 8;

/** How each session went, by its tool calls: those that failed first. */
export function Outcomes({ stats }: { stats: ToolStats | null }) {
  const { t, language } = useMessages();
  const [showsAll, setShowsAll] = useState(false);
  if (!stats?.outcomes.length) return null;
  const succeeded = stats.outcomes.filter((one) => one.outcome === "worked").length;
  const ranked = [...stats.outcomes].sort((a, b) => Number(a.outcome === "worked") - Number(b.outcome === "worked"));
  const shown = showsAll ? ranked : ranked.slice(0, FIRST_SHOWN);
  return (
    <section className="card" aria-label={t("insights.outcomes")}>
      <h2>{t("insights.outcomes")}</h2>
      <p className="dim">
        {t("insights.outcomes.about", {
          n: formatNumber(succeeded, language),
          of: formatNumber(stats.outcomes.length, language),
        })}
      </p>
      <SuccessBar share={succeeded / stats.outcomes.length} />
      <table>
        <tbody>
          {shown.map((one) => (
            <tr key={one.id} data-outcome={one.outcome}>
              <td>
                <a href={getSessionUrl(one.id)} onClick={followLink}>
                  {one.title || t("untitled")}
                </a>
              </td>
              <td>
                <span className={one.outcome === "worked" ? "pill good" : "pill bad"}>
                  {t(one.outcome === "worked" ? "insights.outcome.worked" : "insights.outcome.failed")}
                </span>
              </td>
              <td className="number">
                {t("insights.outcome.calls", {
                  n: formatNumber(one.worked, language),
                  of: formatNumber(one.worked + one.failed, language),
                })}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {!showsAll && ranked.length > FIRST_SHOWN && (
        <button className="button" onClick={() => setShowsAll(true)}>
          {t("action.more")}
        </button>
      )}
    </section>
  );
}

function SuccessBar({ share }: { share: number }) {
  return (
    <div className={css.successBar}>
      <span style={{ width: `${100 * share}%` }} />
    </div>
  );
}
