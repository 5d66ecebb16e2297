import { useCallback, useState } from "react";
import { type Badge, type BadgeState, getDate, TIERS } from "./types";

export type BadgeSort = "catalogue" | "nearest" | "tier" | "newest" | "name";

export interface BadgeFilters {
  category: string;
  state: BadgeState | "all";
  text: string;
  sort: BadgeSort;
}

const NO_FILTERS: BadgeFilters = { category: "", state: "all", text: "", sort: "catalogue" };

/** The filters, kept in the URL's query, so that they can be linked and survive a reload. */
export function useBadgeFilters(): [BadgeFilters, (changes: Partial<BadgeFilters>) => void] {
  const [filters, setFilters] = useState<BadgeFilters>(() => ({
    ...NO_FILTERS,
    ...Object.fromEntries(new URLSearchParams(location.search)),
  }));
  const changeFilters = useCallback((changes: Partial<BadgeFilters>) => {
    setFilters((before) => {
      const next = { ...before, ...changes };
      const chosen = (Object.keys(NO_FILTERS) as Array<keyof BadgeFilters>).filter(
        (key) => next[key] !== NO_FILTERS[key],
      );
      const query = new URLSearchParams(chosen.map((key) => [key, next[key]])).toString();
      history.replaceState(history.state, "", location.pathname + (query ? `?${query}` : ""));
      return next;
    });
  }, []);
  return [filters, changeFilters];
}

const rankTier = (badge: Badge): number =>
  badge.tier ? TIERS.indexOf(badge.tier as (typeof TIERS)[number]) : badge.unlocked ? 0.5 : -1;
const ORDERS: Record<BadgeSort, ((a: Badge, b: Badge) => number) | null> = {
  catalogue: null,
  nearest: (a, b) => rankNearness(b) - rankNearness(a),
  tier: (a, b) => rankTier(b) - rankTier(a),
  newest: (a, b) => getDate(b) - getDate(a),
  name: (a, b) => a.name.localeCompare(b.name),
};

/** Progress towards the next tier; badges without one, and secret ones, come last. */
export const rankNearness = (badge: Badge): number =>
  badge.state === "secret" || (badge.unlocked && !badge.next_tier) ? -1 : badge.progress_pct;

export function filterBadges(badges: Badge[], filters: BadgeFilters): Badge[] {
  const needle = filters.text.trim().toLowerCase();
  const matching = badges.filter(
    (badge) =>
      (!filters.category || badge.category === filters.category) &&
      (filters.state === "all" || badge.state === filters.state) &&
      (!needle ||
        `${badge.name} ${badge.description} ${badge.category} ${badge.criteria}`.toLowerCase().includes(needle)),
  );
  const order = ORDERS[filters.sort] ?? null;
  return order ? [...matching].sort(order) : matching;
}
