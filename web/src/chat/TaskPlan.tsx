import type { Task } from "@/chat/chatEvents";
import { useMessages } from "@/chat/messages";
import { TaskGraph } from "@/chat/TaskGraph";
import css from "./TaskPlan.module.css";

const STATE_SIGNS: Record<string, string> = { done: "✓", completed: "✓", running: "◐", failed: "✗", skipped: "–" };

/** The plan of a turn: its tasks, their states and dependencies, as a graph and as a list. */
export function TaskPlan({ tasks }: { tasks: Task[] }) {
  const { t } = useMessages();
  const titles = new Map(tasks.map((task) => [task.id, task.title]));
  return (
    <section className={css.taskPlan} aria-label={t("chat.plan")}>
      <h3>{t("chat.plan")}</h3>
      {tasks.some((task) => task.needs?.length > 0) && <TaskGraph tasks={tasks} />}
      <ol>
        {tasks.map((task) => (
          <li key={task.id} data-state={task.state}>
            <span className={css.stateSign} aria-hidden="true">
              {STATE_SIGNS[task.state] ?? "○"}
            </span>
            <span>
              {task.title} <span className="visually-hidden">({task.state})</span>
            </span>
            {task.needs?.length > 0 && (
              <span className="dim">
                {t("chat.plan.after", { what: task.needs.map((id) => titles.get(id) ?? id).join(", ") })}
              </span>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
