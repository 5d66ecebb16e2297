import { useCallback, useEffect, useRef, useState } from "react";
import { getJson } from "@/api/http";
import type { Session } from "@/api/types";

export const MAX_SELECTED = 1000; // what the API lists at once

export interface Selection {
  isActive: boolean;
  sessions: ReadonlyMap<string, Session>;
  start: () => void;
  clear: () => void;
  /** Selects or deselects a row; with `isRange` everything from the last one to it. */
  toggle: (index: number, isRange: boolean) => void;
  /** Selects what the list shows, also what is not loaded. Resolves to whether there was more. */
  selectAll: () => Promise<boolean>;
}

/** Which sessions of a list are selected. Another list begins without any. */
export function useSelection(query: string, getSession: (index: number) => Session | undefined): Selection {
  const [isActive, setIsActive] = useState(false);
  const [sessions, setSessions] = useState<ReadonlyMap<string, Session>>(new Map());
  const lastIndex = useRef<number | null>(null);
  const clear = useCallback(() => {
    setIsActive(false);
    setSessions(new Map());
    lastIndex.current = null;
  }, []);
  useEffect(clear, [query, clear]);

  const toggle = (index: number, isRange: boolean) => {
    const session = getSession(index);
    if (!session) return;
    setIsActive(true);
    const next = new Map(sessions);
    if (isRange && lastIndex.current !== null) {
      const [first, last] = [Math.min(lastIndex.current, index), Math.max(lastIndex.current, index)];
      for (let row = first; row <= last; row++) {
        const one = getSession(row);
        if (one) next.set(one.id, one);
      }
    } else if (!next.delete(session.id)) next.set(session.id, session);
    lastIndex.current = index;
    setSessions(next);
  };
  const selectAll = async () => {
    const url = `/api/sessions?${query}&limit=${MAX_SELECTED}`;
    const page = await getJson<{ sessions: Session[]; next: string | null }>(url);
    setIsActive(true);
    setSessions(new Map(page.sessions.map((session) => [session.id, session])));
    return page.next !== null;
  };
  return { isActive, sessions, start: () => setIsActive(true), clear, toggle, selectAll };
}
