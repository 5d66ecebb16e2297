import type { Task } from "@/chat/chatEvents";
import { TaskGraph } from "@/chat/TaskGraph";
import { useI18n } from "@/i18n";

const STATE_SIGNS: Record<string, string> = { done: "✓", completed: "✓", running: "◐", failed: "✗", skipped: "–" };

/** The plan of a turn: its tasks, their states and dependencies, as a graph and as a list. */
export function TaskPlan({ tasks }: { tasks: Task[] }) {
  const { t } = useI18n();
  const titles = new Map(tasks.map((task) => [task.id, task.title]));
  return (
    <section className="task-plan" aria-label={t("chat.plan")}>
      <h3>{t("chat.plan")}</h3>
      {tasks.some((task) => task.needs?.length > 0) && <TaskGraph tasks={tasks} />}
      <ol>
        {tasks.map((task) => (
          <li key={task.id} data-state={task.state}>
            <span className="state-sign" aria-hidden="true">{STATE_SIGNS[task.state] ?? "○"}</span>
            <span>{task.title} <span className="visually-hidden">({task.state})</span></span>
            {task.needs?.length > 0 && <span className="dim">{t("chat.plan.after", { what: task.needs.map((id) => titles.get(id) ?? id).join(", ") })}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}
