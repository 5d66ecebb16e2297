import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { type Language, useI18n } from "@/i18n";
import css from "./insights.module.css";
import "uplot/dist/uPlot.min.css";

/** A bar per day or week; one without a value has none. */
export function BarChart({
  x,
  y,
  label,
  isMoney = false,
}: {
  x: number[];
  y: Array<number | null>;
  label: string;
  isMoney?: boolean;
}) {
  const { language } = useI18n();
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = container.current!;
    const style = getComputedStyle(document.documentElement);
    const getColour = (name: string) => style.getPropertyValue(name).trim();
    const axis = {
      stroke: getColour("--dim"),
      grid: { stroke: getColour("--line"), width: 1 },
      ticks: { show: false },
    };
    const formatValue = (value: number | null) =>
      value === null ? "–" : isMoney ? `$${value.toFixed(2)}` : value.toLocaleString();
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: 200,
        fmtDate: (template) => uPlot.fmtDate(template, nameDates(language)),
        cursor: { points: { size: 7 } },
        scales: { y: { range: (_, __, maximum) => [0, maximum > 0 ? maximum * 1.08 : 1] } }, // the axis starts at zero, else it would exaggerate
        series: [
          { value: (_, time) => (time === null ? "" : new Date(time * 1000).toISOString().slice(0, 10)) },
          {
            label,
            stroke: getColour("--accent"),
            width: 0,
            fill: getColour("--accent"),
            points: { show: false },
            paths: uPlot.paths.bars!({ size: [0.75, 28] }),
            value: (_, value) => formatValue(value),
          },
        ],
        axes: [
          axis,
          {
            ...axis,
            size: 62,
            values: (_, ticks) =>
              ticks.map((tick) =>
                isMoney ? `$${tick}` : Intl.NumberFormat("en", { notation: "compact" }).format(tick),
              ),
          },
        ],
      },
      [x, y],
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 200 }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [x, y, label, isMoney, language]);
  return <div className={css.chart} ref={container} role="img" aria-label={label} />;
}

/** Months and weekdays in the person's language. */
function nameDates(language: Language) {
  const name = (options: Intl.DateTimeFormatOptions, dates: Date[]) =>
    dates.map((date) => date.toLocaleString(language === "zh" ? "zh-CN" : "en", options));
  const months = Array.from({ length: 12 }, (_, month) => new Date(2023, month, 1));
  const days = Array.from({ length: 7 }, (_, day) => new Date(2023, 0, 1 + day)); // that year began on a Sunday
  return {
    MMMM: name({ month: "long" }, months),
    MMM: name({ month: "short" }, months),
    WWWW: name({ weekday: "long" }, days),
    WWW: name({ weekday: "short" }, days),
  };
}
