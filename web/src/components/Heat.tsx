import { useEffect, useMemo, useRef } from "react";
import { count, useWords } from "@/i18n";

/** A year of days, one square each; darker is more. */
export function Heat({ days }: { days: Array<{ day: string; messages: number }> }) {
  const { t, language } = useWords();
  const cells = useMemo(() => {
    const found = new Map(days.map((one) => [one.day, one.messages]));
    const most = Math.max(1, ...found.values());
    const today = new Date(new Date().toISOString().slice(0, 10));
    const first = new Date(today);
    first.setUTCDate(first.getUTCDate() - 364 - today.getUTCDay());
    const made = [];
    for (const at = new Date(first); at <= today; at.setUTCDate(at.getUTCDate() + 1)) {
      const day = at.toISOString().slice(0, 10);
      const value = found.get(day) ?? 0;
      made.push({ day, value, level: value ? Math.min(4, 1 + Math.floor((3.99 * Math.log(1 + value)) / Math.log(1 + most))) : 0, row: at.getUTCDay(), month: at.getUTCDate() === 1 ? at.toLocaleString(language === "zh" ? "zh-CN" : "en", { month: "short", timeZone: "UTC" }) : "" });
    }
    return made;
  }, [days, language]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (box.current) box.current.scrollLeft = box.current.scrollWidth; // where there is no room for all, the newest days
  }, []);
  const active = cells.filter((one) => one.value).length;
  return (
    <div className="scroll-x" ref={box} tabIndex={0} role="region" aria-label={t("insights.activity")}>
      <svg className="heat" viewBox="0 0 720 110" role="img" aria-label={t("insights.activity.label", { n: count(active, language) })}>
        {cells.map((one, index) => {
          const x = 4 + Math.floor(index / 7) * 13.4;
          return (
            <g key={one.day}>
              <rect x={x} y={16 + one.row * 13.2} width="11" height="11" rx="2.5" data-level={one.level}><title>{`${one.day}: ${count(one.value, language)}`}</title></rect>
              {one.month && <text x={x} y="10">{one.month}</text>}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
