// What the list of sessions is narrowed down to. It lives in the address, so it survives a reload and can be shared.
import { useCallback, useMemo } from "react";
import { navigate, useLocation } from "@/router";

export const FACETS = ["program", "project", "model", "tool", "tag"] as const;
export type FacetName = (typeof FACETS)[number];

export interface SessionFilter {
  words: string;
  facets: Record<FacetName, string[]>;
  since: string;
  until: string;
  view: "" | "pinned" | "archived" | "trash";
}

export function parseFilter(search: string): SessionFilter {
  const query = new URLSearchParams(search);
  const view = query.get("view");
  return {
    words: query.get("q") ?? "",
    facets: Object.fromEntries(FACETS.map((name) => [name, query.getAll(name)])) as SessionFilter["facets"],
    since: query.get("since") ?? "",
    until: query.get("until") ?? "",
    view: view === "pinned" || view === "archived" || view === "trash" ? view : "",
  };
}

function listPairs(filter: SessionFilter): Array<[string, string]> {
  return [
    ...FACETS.flatMap((name) => filter.facets[name].map((value): [string, string] => [name, value])),
    ["since", filter.since],
    ["until", filter.until],
  ];
}

const toQuery = (pairs: Array<[string, string]>) => new URLSearchParams(pairs.filter(([, value]) => value)).toString();

/** The filter as the page's address has it. */
export const toAddress = (filter: SessionFilter): string =>
  toQuery([["q", filter.words], ...listPairs(filter), ["view", filter.view]]);

/** The filter as the API's list and facets take it. */
export const toListQuery = (filter: SessionFilter): string =>
  toQuery([
    ...listPairs(filter),
    ["archived", filter.view === "archived" ? "yes" : filter.view === "trash" ? "any" : ""],
    ["trashed", filter.view === "trash" ? "true" : ""],
    ["pinned", filter.view === "pinned" ? "true" : ""],
  ]);

/** The same for a search, which takes one tool and finds archived sessions too. */
export const toSearchQuery = (filter: SessionFilter, words: string): string =>
  toQuery([
    ["q", words],
    ...listPairs({ ...filter, facets: { ...filter.facets, tool: filter.facets.tool.slice(0, 1) } }),
    ["archived", filter.view === "archived" ? "yes" : ""],
  ]);

export const countChosen = (filter: SessionFilter): number =>
  FACETS.reduce((sum, name) => sum + filter.facets[name].length, 0) +
  Number(filter.since !== "") +
  Number(filter.until !== "");

export function useSessionFilter(): [SessionFilter, (changes: Partial<SessionFilter>) => void] {
  const search = useLocation().split("?")[1] ?? "";
  const filter = useMemo(() => parseFilter(search), [search]);
  const change = useCallback((changes: Partial<SessionFilter>) => {
    const address = toAddress({ ...parseFilter(location.search.slice(1)), ...changes });
    navigate(`/sessions${address ? `?${address}` : ""}`, true);
  }, []);
  return [filter, change];
}
