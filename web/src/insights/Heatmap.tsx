import { useEffect, useMemo, useRef } from "react";
import { formatNumber } from "@/i18n";
import { useMessages } from "@/insights/messages";
import css from "./insights.module.css";

/** A year of days, one square per day; the darker, the more messages. */
export function Heatmap({ days }: { days: Array<{ day: string; messages: number }> }) {
  const { t, language } = useMessages();
  const cells = useMemo(() => {
    const messagesByDay = new Map(days.map(({ day, messages }) => [day, messages]));
    const highest = Math.max(1, ...messagesByDay.values());
    const today = new Date(new Date().toISOString().slice(0, 10));
    const first = new Date(today);
    first.setUTCDate(first.getUTCDate() - 364 - today.getUTCDay());
    const squares = [];
    for (const date = new Date(first); date <= today; date.setUTCDate(date.getUTCDate() + 1)) {
      const day = date.toISOString().slice(0, 10);
      const value = messagesByDay.get(day) ?? 0;
      squares.push({
        day,
        value,
        level: value ? Math.min(4, 1 + Math.floor((3.99 * Math.log(1 + value)) / Math.log(1 + highest))) : 0,
        row: date.getUTCDay(),
        month:
          date.getUTCDate() === 1
            ? date.toLocaleString(language === "zh" ? "zh-CN" : "en", { month: "short", timeZone: "UTC" })
            : "",
      });
    }
    return squares;
  }, [days, language]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (box.current) box.current.scrollLeft = box.current.scrollWidth; // a narrow screen shows the newest days first
  }, []);
  const activeDays = cells.filter((cell) => cell.value).length;
  return (
    <>
      <div className="scroll-x" ref={box} tabIndex={0} role="region" aria-label={t("insights.activity")}>
        <svg
          className={css.heatmap}
          viewBox="0 0 720 110"
          role="img"
          aria-label={t("insights.activity.label", { n: formatNumber(activeDays, language) })}
        >
          {cells.map((cell, index) => {
            const x = 4 + Math.floor(index / 7) * 13.4;
            return (
              <g key={cell.day}>
                <rect x={x} y={16 + cell.row * 13.2} width="11" height="11" rx="2.5" data-level={cell.level}>
                  <title>{`${cell.day}: ${formatNumber(cell.value, language)}`}</title>
                </rect>
                {cell.month && (
                  <text x={x} y="10">
                    {cell.month}
                  </text>
                )}
              </g>
            );
          })}
        </svg>
      </div>
      <p className={css.heatmapLegend} aria-hidden="true">
        {t("insights.less")}
        <svg className={css.heatmap} viewBox="0 0 66 11">
          {[0, 1, 2, 3, 4].map((level) => (
            <rect key={level} x={level * 13.4} width="11" height="11" rx="2.5" data-level={level} />
          ))}
        </svg>
        {t("insights.more")}
      </p>
    </>
  );
}
