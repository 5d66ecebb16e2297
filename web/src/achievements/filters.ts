import { useCallback, useState } from "react";
import { TIERS, type Badge, type State } from "./types";

export type Sort = "catalogue" | "nearest" | "tier" | "newest" | "name";

export interface Filters {
  category: string;
  state: State | "all";
  text: string;
  sort: Sort;
}

const NONE: Filters = { category: "", state: "all", text: "", sort: "catalogue" };

/** What is chosen stays in the address, so that it can be linked and survives a reload. */
export function useFilters(): [Filters, (some: Partial<Filters>) => void] {
  const [filters, setFilters] = useState<Filters>(() => ({ ...NONE, ...Object.fromEntries(new URLSearchParams(location.search)) }));
  const change = useCallback((some: Partial<Filters>) => {
    setFilters((before) => {
      const now = { ...before, ...some };
      const chosen = (Object.keys(NONE) as Array<keyof Filters>).filter((key) => now[key] !== NONE[key]);
      const query = new URLSearchParams(chosen.map((key) => [key, now[key]])).toString();
      history.replaceState(history.state, "", location.pathname + (query ? `?${query}` : ""));
      return now;
    });
  }, []);
  return [filters, change];
}

const rank = (badge: Badge): number => (badge.tier ? TIERS.indexOf(badge.tier as (typeof TIERS)[number]) : badge.unlocked ? 0.5 : -1);
const ORDERS: Record<Sort, ((a: Badge, b: Badge) => number) | null> = {
  catalogue: null,
  nearest: (a, b) => nearness(b) - nearness(a),
  tier: (a, b) => rank(b) - rank(a),
  newest: (a, b) => (b.unlocked_at ?? 0) - (a.unlocked_at ?? 0),
  name: (a, b) => a.name.localeCompare(b.name),
};

/** How close the next step is; what has no next step, or is secret, comes last. */
const nearness = (badge: Badge): number => (badge.state === "secret" || (badge.unlocked && !badge.next_tier) ? -1 : badge.progress_pct);

export function shown(badges: Badge[], filters: Filters): Badge[] {
  const words = filters.text.trim().toLowerCase();
  const found = badges.filter(
    (one) =>
      (!filters.category || one.category === filters.category) &&
      (filters.state === "all" || one.state === filters.state) &&
      (!words || `${one.name} ${one.description} ${one.category} ${one.criteria}`.toLowerCase().includes(words)),
  );
  const order = ORDERS[filters.sort] ?? null;
  return order ? [...found].sort(order) : found;
}
