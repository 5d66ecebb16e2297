import { useCallback, useEffect, useRef, useState } from "react";
import { subscribeToChanges } from "@/api/changeFeed";
import { getJson, isAbortError } from "@/api/http";
import type { Session } from "@/api/types";

const PAGE_SESSIONS = 60;
const REFRESH_MS = 600; // changes within this time are read together

interface Conversations {
  sessions: Session[] | null;
  hasMore: boolean;
  loadMore: () => void;
  error: unknown;
}
interface SessionPage {
  sessions: Session[];
  next: string | null;
}

const getPageUrl = (limit: number, before: string | null, pinned: boolean) =>
  `/api/sessions?subagents=false&pinned=${pinned}&limit=${limit}${before ? `&before=${encodeURIComponent(before)}` : ""}`;

/** The conversations, newest first, with all pinned ones; kept current by the feed of changes. */
export function useConversations(): Conversations {
  const [sessions, setSessions] = useState<Session[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const shown = useRef(PAGE_SESSIONS);
  const isLoading = useRef(false);

  const load = useCallback(async (signal?: AbortSignal) => {
    const [pinned, page] = await Promise.all([
      getJson<SessionPage>(getPageUrl(PAGE_SESSIONS, null, true), signal),
      getJson<SessionPage>(getPageUrl(Math.min(1000, shown.current), null, false), signal),
    ]);
    setSessions([...pinned.sessions, ...page.sessions]);
    setNext(page.next);
    setError(null);
  }, []);

  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const report = (problem: unknown) => {
      if (!isAbortError(problem) && !signal.aborted) setError(problem);
    };
    load(signal).catch(report);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const refresh = () => {
      timer = undefined;
      if (!signal.aborted && !document.hidden) load(signal).catch(report);
    };
    const handleVisible = () => {
      if (!document.hidden) refresh();
    };
    document.addEventListener("visibilitychange", handleVisible);
    const unsubscribe = subscribeToChanges(() => {
      timer ??= setTimeout(refresh, REFRESH_MS);
    });
    return () => {
      controller.abort();
      unsubscribe();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", handleVisible);
    };
  }, [load]);

  const loadMore = useCallback(() => {
    if (!next || isLoading.current) return;
    isLoading.current = true;
    getJson<SessionPage>(getPageUrl(PAGE_SESSIONS, next, false))
      .then((page) => {
        shown.current += PAGE_SESSIONS;
        setSessions((before) => [...(before ?? []), ...page.sessions]);
        setNext(page.next);
      }, setError)
      .finally(() => {
        isLoading.current = false;
      });
  }, [next]);
  return { sessions, hasMore: next !== null, loadMore, error };
}
