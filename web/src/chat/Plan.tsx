import type { Task } from "@/chat/events";
import { Graph } from "@/chat/Graph";
import { useWords } from "@/i18n";

const SIGNS: Record<string, string> = { done: "✓", completed: "✓", running: "◐", failed: "✗", skipped: "–" };

/** The task graph, as `progress` tells it: what waits for what, and how far each step is. */
export function Plan({ tasks }: { tasks: Task[] }) {
  const { t } = useWords();
  const names = new Map(tasks.map((one) => [one.id, one.title]));
  return (
    <section className="plan" aria-label={t("chat.plan")}>
      <h3>{t("chat.plan")}</h3>
      {tasks.some((one) => one.needs?.length > 0) && <Graph tasks={tasks} />}
      <ol>
        {tasks.map((one) => (
          <li key={one.id} data-state={one.state}>
            <span className="sign" aria-hidden="true">{SIGNS[one.state] ?? "○"}</span>
            <span>{one.title} <span className="visually-hidden">({one.state})</span></span>
            {one.needs?.length > 0 && <span className="dim">{t("chat.after", { what: one.needs.map((id) => names.get(id) ?? id).join(", ") })}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}
