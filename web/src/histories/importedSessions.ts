// How many sessions of each program are here already.
import { getJson } from "@/api/http";
import type { FoundHistory } from "@/api/types";

export type SessionCounts = Record<string, number>;

export async function countImported(signal?: AbortSignal): Promise<SessionCounts> {
  const page = await getJson<{ facets: { program?: Array<{ value: string; count: number }> } }>(
    "/api/facets?archived=any",
    signal,
  );
  return Object.fromEntries((page.facets.program ?? []).map(({ value, count }) => [value, count]));
}

export const isReadable = (history: FoundHistory): boolean => !history.problem && history.sessions > 0;

/** The readable histories that may hold something new: those of programs with more sessions than are here. */
export function listNewHistories(histories: FoundHistory[], counts: SessionCounts): FoundHistory[] {
  const readable = histories.filter(isReadable);
  const found: SessionCounts = {};
  for (const { source, sessions } of readable) found[source] = (found[source] ?? 0) + sessions;
  return readable.filter(({ source }) => found[source]! > (counts[source] ?? 0));
}
