import { useMemo } from "react";
import type { Task } from "@/chat/events";
import { useWords } from "@/i18n";

const [WIDE, HIGH, ACROSS, DOWN] = [150, 34, 44, 12]; // of a node, and the room between two
const LETTERS = 20;

interface Placed {
  task: Task;
  x: number;
  y: number;
}

/** From left to right: each task one column after the last of those it needs. A circle, which there should not be, ends. */
export function placed(tasks: Task[]): Placed[] {
  const byId = new Map(tasks.map((one) => [one.id, one]));
  const columns = new Map<string, number>();
  const column = (task: Task, above: string[]): number => {
    const known = columns.get(task.id);
    if (known !== undefined) return known;
    const needs = (task.needs ?? []).map((id) => byId.get(id)).filter((one): one is Task => one !== undefined && !above.includes(one.id));
    const at = needs.length ? 1 + Math.max(...needs.map((one) => column(one, [...above, task.id]))) : 0;
    columns.set(task.id, at);
    return at;
  };
  const filled: number[] = [];
  return tasks.map((task) => {
    const x = column(task, []);
    const y = filled[x] ?? 0;
    filled[x] = y + 1;
    return { task, x: x * (WIDE + ACROSS), y: y * (HIGH + DOWN) };
  });
}

/** The same tasks as a small picture; the list beside it says it in words. */
export function Graph({ tasks }: { tasks: Task[] }) {
  const { t } = useWords();
  const nodes = useMemo(() => placed(tasks), [tasks]);
  const at = new Map(nodes.map((one) => [one.task.id, one]));
  const width = Math.max(...nodes.map((one) => one.x)) + WIDE + 4;
  const height = Math.max(...nodes.map((one) => one.y)) + HIGH + 4;
  return (
    <div className="graph" tabIndex={0} role="region" aria-label={t("chat.graph")}>
      <svg width={width} height={height} viewBox={`-2 -2 ${width} ${height}`} role="img" aria-label={t("chat.graph")}>
        {nodes.flatMap(({ task, x, y }) => (task.needs ?? []).map((id) => {
          const from = at.get(id);
          if (!from) return null;
          const [x1, y1, y2] = [from.x + WIDE, from.y + HIGH / 2, y + HIGH / 2];
          return <path key={`${id}>${task.id}`} className="edge" data-edge={`${id}>${task.id}`} data-state={from.task.state} d={`M${x1} ${y1} C${x1 + ACROSS / 2} ${y1} ${x - ACROSS / 2} ${y2} ${x} ${y2}`} />;
        }))}
        {nodes.map(({ task, x, y }) => (
          <g key={task.id} className="node" data-node={task.id} data-state={task.state} transform={`translate(${x} ${y})`}>
            <title>{task.title}</title>
            <rect width={WIDE} height={HIGH} rx="8" />
            <text x="10" y={HIGH / 2} dominantBaseline="central">{task.title.length > LETTERS ? `${task.title.slice(0, LETTERS - 1)}…` : task.title}</text>
          </g>
        ))}
      </svg>
    </div>
  );
}
