import { useEffect, useRef } from "react";
import uPlot from "uplot";
import css from "./insights.module.css";
import "uplot/dist/uPlot.min.css";

/** A bar per day; a day without a value has none. */
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
  }, [x, y, label, isMoney]);
  return <div className={css.chart} ref={container} role="img" aria-label={label} />;
}
