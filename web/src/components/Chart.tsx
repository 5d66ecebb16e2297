import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

/** A bar for each day. What nobody knows has none. */
export function Chart({ x, y, label, money = false }: { x: number[]; y: Array<number | null>; label: string; money?: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const at = box.current!;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const shown = (value: number | null) => (value === null ? "–" : money ? `$${value.toFixed(2)}` : value.toLocaleString());
    const plot = new uPlot(
      {
        width: at.clientWidth, height: 200, cursor: { points: { size: 7 } },
        scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] } }, // from nothing: a short axis would lie
        series: [
          { value: (_, at) => (at === null ? "" : new Date(at * 1000).toISOString().slice(0, 10)) },
          { label, stroke: colour("--accent"), width: 0, fill: colour("--accent"), points: { show: false }, paths: uPlot.paths.bars!({ size: [0.75, 28] }), value: (_, value) => shown(value) },
        ],
        axes: [axis, { ...axis, size: 62, values: (_, ticks) => ticks.map((one) => (money ? `$${one}` : Intl.NumberFormat("en", { notation: "compact" }).format(one))) }],
      },
      [x, y], at,
    );
    const watch = new ResizeObserver(() => plot.setSize({ width: at.clientWidth, height: 200 }));
    watch.observe(at);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [x, y, label, money]);
  return <div className="chart" ref={box} role="img" aria-label={label} />;
}
