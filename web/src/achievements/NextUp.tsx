import { useMessages } from "@/achievements/messages";
import { formatNumber } from "@/i18n";
import { Emblem } from "./BadgeCard";
import { rankNearness } from "./badgeFilters";
import type { AchievementsResponse } from "./types";

/** The three badges that are nearest to their next tier. */
export function NextUp({ response }: { response: AchievementsResponse }) {
  const { t, language } = useMessages();
  const nearest = response.achievements
    .filter((badge) => rankNearness(badge) > 0)
    .sort((a, b) => rankNearness(b) - rankNearness(a))
    .slice(0, 3);
  if (!nearest.length) return null;
  return (
    <section aria-label={t("ach.next")}>
      <h2 className="ach-caption">{t("ach.next")}</h2>
      <ul className="ach-recent ach-next">
        {nearest.map((badge) => (
          <li key={badge.id}>
            <Emblem badge={badge} size={18} /> {badge.name}
            <span className="dim">
              {badge.requirements
                ? `${badge.progress_pct}%`
                : `${formatNumber(badge.progress, language)} / ${formatNumber(badge.next_threshold, language)}`}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
