import type { Session } from "@/api/types";
import type { MessageKey } from "@/chat/messages";
import type { Language, Translate } from "@/i18n";

export interface DayGroup {
  label: string;
  sessions: Session[];
}

const DAY_MS = 86_400_000;

/** Sessions as a person looks for them: pinned, today, yesterday, the last week, then by month. */
export function groupByDay(
  sessions: Session[],
  language: Language,
  t: Translate<MessageKey>,
  now = new Date(),
): DayGroup[] {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const findLabel = (session: Session): string => {
    if (session.pinned) return t("list.pinned");
    const at = session.last_active ? new Date(session.last_active) : null;
    if (!at) return t("list.undated");
    if (at.getTime() >= midnight) return t("list.today");
    if (at.getTime() >= midnight - DAY_MS) return t("list.yesterday");
    if (at.getTime() >= midnight - 7 * DAY_MS) return t("list.week");
    return at.toLocaleDateString(language === "zh" ? "zh-CN" : "en-US", { month: "long", year: "numeric" });
  };
  const groups = new Map<string, DayGroup>();
  for (const session of [...sessions].sort((a, b) => Number(b.pinned) - Number(a.pinned))) {
    const label = findLabel(session);
    const group = groups.get(label) ?? { label, sessions: [] };
    group.sessions.push(session);
    groups.set(label, group);
  }
  return [...groups.values()];
}
