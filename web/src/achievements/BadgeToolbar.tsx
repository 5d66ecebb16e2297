import { useMemo } from "react";
import { useMessages } from "@/achievements/messages";
import { translateCategory } from "@/serverTexts/badgeTexts";
import { useServerTexts } from "@/serverTexts/serverTexts";
import type { BadgeFilters, BadgeSort } from "./badgeFilters";
import type { AchievementsResponse, BadgeState } from "./types";

const STATES: Array<BadgeState | "all"> = ["all", "unlocked", "discovered", "secret"];
const SORTS: BadgeSort[] = ["catalogue", "nearest", "tier", "newest", "name"];

/** The filters of the badges: category, state, words and order. */
export function BadgeToolbar({
  response,
  filters,
  changeFilters,
}: {
  response: AchievementsResponse;
  filters: BadgeFilters;
  changeFilters: (changes: Partial<BadgeFilters>) => void;
}) {
  const { t } = useMessages();
  const texts = useServerTexts();
  const categories = useMemo(
    () => [...new Set(response.achievements.map((badge) => badge.category))],
    [response.achievements],
  );
  return (
    <div className="ach-toolbar">
      <div className="ach-pills" role="group" aria-label={t("ach.filter.category")}>
        {["", ...categories].map((category) => (
          <button
            key={category}
            aria-pressed={filters.category === category}
            onClick={() => changeFilters({ category })}
          >
            {category ? translateCategory(category, texts) : t("ach.filter.all")}
            {category && ` ${countUnlocked(response, category)}`}
          </button>
        ))}
      </div>
      <div className="row">
        <div className="ach-pills" role="group" aria-label={t("ach.filter.state")}>
          {STATES.map((state) => (
            <button key={state} aria-pressed={filters.state === state} onClick={() => changeFilters({ state })}>
              {t(`ach.state.${state}`)}
            </button>
          ))}
        </div>
        <input
          data-search
          type="search"
          className="grow"
          placeholder={t("ach.filter.search")}
          aria-label={t("ach.filter.search")}
          value={filters.text}
          onChange={(event) => changeFilters({ text: event.target.value })}
        />
        <select
          aria-label={t("ach.filter.sort")}
          value={filters.sort}
          onChange={(event) => changeFilters({ sort: event.target.value as BadgeSort })}
        >
          {SORTS.map((sort) => (
            <option key={sort} value={sort}>
              {t(`ach.sort.${sort}`)}
            </option>
          ))}
        </select>
      </div>
    </div>
  );
}

/** "3/9": how many badges of a category are unlocked. */
function countUnlocked(response: AchievementsResponse, category: string): string {
  const all = response.achievements.filter((badge) => badge.category === category);
  return `${all.filter((badge) => badge.unlocked).length}/${all.length}`;
}
