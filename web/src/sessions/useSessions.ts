import { useCallback, useEffect, useRef, useState } from "react";
import { getJson, isAbortError } from "@/api/http";
import type { Session } from "@/api/types";
import { type SessionFilter, toListQuery } from "@/sessions/sessionFilter";

const PAGE_SIZE = 100;
const MAX_CACHED_PAGES = 60; // older pages are dropped and fetched again

interface SessionPages {
  total: number | null;
  getSession: (index: number) => Session | undefined;
  loadRange: (first: number, last: number) => void;
  error: unknown;
  reload: () => void;
}

/** The whole list of sessions, fetched page by page as rows become visible. */
export function useSessions(filter: SessionFilter): SessionPages {
  const [pages, setPages] = useState<Map<number, Session[]>>(new Map());
  const [total, setTotal] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [reloads, setReloads] = useState(0);
  const visible = useRef({ first: 0, last: 1, load: () => undefined as void });
  const key = toListQuery(filter);

  useEffect(() => {
    const controller = new AbortController();
    const cache = new Map<number, Session[]>();
    let isLoading = false;
    const findMissingPage = () => {
      const { first, last } = visible.current;
      for (let page = Math.floor(first / PAGE_SIZE); page * PAGE_SIZE < last; page++) if (!cache.has(page)) return page;
      return null;
    };
    const load = async () => {
      if (isLoading) return;
      isLoading = true;
      try {
        for (let page = findMissingPage(); page !== null && !controller.signal.aborted; page = findMissingPage()) {
          const response = await getJson<{ sessions: Session[]; total: number }>(
            `/api/sessions?${key}&limit=${PAGE_SIZE}&skip=${page * PAGE_SIZE}&count=true`,
            controller.signal,
          );
          cache.delete(page);
          cache.set(page, response.sessions);
          for (const old of [...cache.keys()].slice(0, Math.max(0, cache.size - MAX_CACHED_PAGES))) cache.delete(old);
          setPages(new Map(cache));
          setTotal(response.total);
          setError(null);
        }
      } catch (problem) {
        if (!isAbortError(problem)) setError(problem);
      }
      isLoading = false;
    };
    visible.current = { first: 0, last: 1, load: () => void load() };
    void load();
    return () => controller.abort();
  }, [key, reloads]);

  const loadRange = useCallback((first: number, last: number) => {
    Object.assign(visible.current, { first, last });
    visible.current.load();
  }, []);
  const getSession = useCallback(
    (index: number) => pages.get(Math.floor(index / PAGE_SIZE))?.[index % PAGE_SIZE],
    [pages],
  );
  const reload = useCallback(() => setReloads((n) => n + 1), []);
  return { total, getSession, loadRange, error, reload };
}
