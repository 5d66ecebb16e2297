import { useCallback, useEffect, useRef, useState } from "react";
import { getJson, wasAborted } from "@/api/http";
import type { Session } from "@/api/types";

export interface Wanted {
  text: string;
  source: string;
  model: string;
  tag: string;
  tool: string;
  since: string;
  until: string;
  archived: "" | "no" | "yes" | "any"; // unsaid: the list leaves them out, a search finds them
}

export const ANY: Wanted = { text: "", source: "", model: "", tag: "", tool: "", since: "", until: "", archived: "" };
const PAGE = 100;
const KEPT = 60; // pages; what was seen longer ago is asked for again

export interface Sessions {
  total: number | null;
  at: (index: number) => Session | undefined;
  see: (first: number, last: number) => void;
  error: unknown;
  replace: (session: Session | null, id: string) => void;
}

export function query(wanted: Wanted, more: Record<string, string>): string {
  const given: Array<[string, string]> = [["source", wanted.source], ["model", wanted.model], ["tag", wanted.tag], ["since", wanted.since], ["until", wanted.until], ["archived", wanted.archived]];
  return new URLSearchParams([...given, ...Object.entries(more)].filter(([, value]) => value)).toString();
}

/** The whole list, of which only what somebody looks at is fetched: one page at a time, the one in sight first. */
export function useSessions(wanted: Wanted): Sessions {
  const [pages, setPages] = useState<Map<number, Session[]>>(new Map());
  const [total, setTotal] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);
  const sight = useRef({ first: 0, last: 1, look: () => undefined as void });
  const key = query(wanted, {});

  useEffect(() => {
    const leaving = new AbortController();
    const had = new Map<number, Session[]>();
    let busy = false;
    const missing = () => {
      const { first, last } = sight.current;
      for (let page = Math.floor(first / PAGE); page * PAGE < last; page++) if (!had.has(page)) return page;
      return null;
    };
    const look = async () => {
      if (busy) return;
      busy = true;
      try {
        for (let page = missing(); page !== null && !leaving.signal.aborted; page = missing()) {
          const answer = await getJson<{ sessions: Session[]; total: number }>(`/api/sessions?${key}&limit=${PAGE}&skip=${page * PAGE}&count=true`, leaving.signal);
          had.delete(page);
          had.set(page, answer.sessions);
          for (const old of [...had.keys()].slice(0, Math.max(0, had.size - KEPT))) had.delete(old);
          setPages(new Map(had));
          setTotal(answer.total);
          setError(null);
        }
      } catch (problem) {
        if (!wasAborted(problem)) setError(problem);
      }
      busy = false;
    };
    sight.current = { first: 0, last: 1, look: () => void look() };
    void look();
    return () => leaving.abort();
  }, [key, round]);

  const see = useCallback((first: number, last: number) => {
    Object.assign(sight.current, { first, last });
    sight.current.look();
  }, []);
  const at = useCallback((index: number) => pages.get(Math.floor(index / PAGE))?.[index % PAGE], [pages]);
  const replace = useCallback((session: Session | null, id: string) => {
    if (!session) return setRound((n) => n + 1);
    setPages((old) => new Map([...old].map(([page, rows]) => [page, rows.map((one) => (one.id === id ? session : one))])));
  }, []);
  return { total, at, see, error, replace };
}
