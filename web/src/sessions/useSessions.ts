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
  archived: "no" | "yes" | "any";
}

export const ANY: Wanted = { text: "", source: "", model: "", tag: "", tool: "", since: "", until: "", archived: "no" };
const PAGE = 500;

export function query(wanted: Wanted, more: Record<string, string>): string {
  const given: Array<[string, string]> = [["source", wanted.source], ["model", wanted.model], ["tag", wanted.tag], ["since", wanted.since], ["until", wanted.until], ["archived", wanted.archived]];
  return new URLSearchParams([...given, ...Object.entries(more)].filter(([, value]) => value)).toString();
}

/** Sessions page by page, as far as somebody scrolled. */
export function useSessions(wanted: Wanted): { sessions: Session[]; done: boolean; error: unknown; more: () => void; replace: (session: Session | null, id: string) => void } {
  const [sessions, setSessions] = useState<Session[]>([]);
  const [done, setDone] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const place = useRef<{ asked: AbortController | null; next: string | null; key: string }>({ asked: null, next: "", key: "" });
  const key = query(wanted, {});

  const load = useCallback(async (first: boolean) => {
    const at = place.current;
    if (!first && (at.asked || at.next === null)) return;
    at.asked?.abort();
    const asked = (at.asked = new AbortController());
    try {
      const before = first ? "" : (at.next ?? "");
      const page = await getJson<{ sessions: Session[]; next: string | null }>(`/api/sessions?${key}&limit=${PAGE}${before ? `&before=${before}` : ""}`, asked.signal);
      at.next = page.next;
      setSessions((old) => (first ? page.sessions : [...old, ...page.sessions]));
      setDone(page.next === null);
      setError(null);
    } catch (problem) {
      if (!wasAborted(problem)) setError(problem);
    } finally {
      if (at.asked === asked) at.asked = null;
    }
  }, [key]);

  useEffect(() => {
    void load(true);
    return () => {
      place.current.asked?.abort();
      place.current.asked = null;
    };
  }, [load]);

  const replace = useCallback((session: Session | null, id: string) => {
    setSessions((old) => (session ? old.map((one) => (one.id === id ? session : one)) : old.filter((one) => one.id !== id)));
  }, []);
  return { sessions, done, error, more: () => void load(false), replace };
}
