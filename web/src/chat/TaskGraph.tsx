import { useMemo } from "react";
import type { Task } from "@/chat/chatEvents";
import { useMessages } from "@/chat/messages";
import css from "./TaskGraph.module.css";

const [NODE_WIDTH, NODE_HEIGHT, COLUMN_GAP, ROW_GAP] = [150, 34, 44, 12]; // pixels
const MAX_TITLE_CHARACTERS = 20;

interface TaskNode {
  task: Task;
  x: number;
  y: number;
}

/** A layout from left to right: each task one column after the last task it needs. A cycle does not recurse for ever. */
function layoutTasks(tasks: Task[]): TaskNode[] {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const columns = new Map<string, number>();
  const findColumn = (task: Task, ancestors: string[]): number => {
    const known = columns.get(task.id);
    if (known !== undefined) return known;
    const needs = (task.needs ?? [])
      .map((id) => byId.get(id))
      .filter((need): need is Task => need !== undefined && !ancestors.includes(need.id));
    const column = needs.length ? 1 + Math.max(...needs.map((need) => findColumn(need, [...ancestors, task.id]))) : 0;
    columns.set(task.id, column);
    return column;
  };
  const rowsInColumn: number[] = [];
  return tasks.map((task) => {
    const x = findColumn(task, []);
    const y = rowsInColumn[x] ?? 0;
    rowsInColumn[x] = y + 1;
    return { task, x: x * (NODE_WIDTH + COLUMN_GAP), y: y * (NODE_HEIGHT + ROW_GAP) };
  });
}

/** The tasks and their dependencies as an SVG graph; the list in TaskPlan is its text equivalent. */
export function TaskGraph({ tasks }: { tasks: Task[] }) {
  const { t } = useMessages();
  const nodes = useMemo(() => layoutTasks(tasks), [tasks]);
  const nodesById = new Map(nodes.map((node) => [node.task.id, node]));
  const width = Math.max(...nodes.map((node) => node.x)) + NODE_WIDTH + 4;
  const height = Math.max(...nodes.map((node) => node.y)) + NODE_HEIGHT + 4;
  return (
    <div className={css.taskGraph} tabIndex={0} role="region" aria-label={t("chat.plan.graph")}>
      <svg
        width={width}
        height={height}
        viewBox={`-2 -2 ${width} ${height}`}
        role="img"
        aria-label={t("chat.plan.graph")}
      >
        {nodes.flatMap(({ task, x, y }) =>
          (task.needs ?? []).map((id) => {
            const from = nodesById.get(id);
            if (!from) return null;
            const [x1, y1, y2] = [from.x + NODE_WIDTH, from.y + NODE_HEIGHT / 2, y + NODE_HEIGHT / 2];
            return (
              <path
                key={`${id}>${task.id}`}
                className={css.edge}
                data-edge={`${id}>${task.id}`}
                data-state={from.task.state}
                d={`M${x1} ${y1} C${x1 + COLUMN_GAP / 2} ${y1} ${x - COLUMN_GAP / 2} ${y2} ${x} ${y2}`}
              />
            );
          }),
        )}
        {nodes.map(({ task, x, y }) => (
          <g
            key={task.id}
            className="node"
            data-node={task.id}
            data-state={task.state}
            transform={`translate(${x} ${y})`}
          >
            <title>{task.title}</title>
            <rect width={NODE_WIDTH} height={NODE_HEIGHT} rx="8" />
            <text x="10" y={NODE_HEIGHT / 2} dominantBaseline="central">
              {task.title.length > MAX_TITLE_CHARACTERS
                ? `${task.title.slice(0, MAX_TITLE_CHARACTERS - 1)}…`
                : task.title}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}
