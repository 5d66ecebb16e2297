import { useCallback, useEffect, useRef, useState } from "react";
import { BASE, isScanning, type Answer, type Host } from "./types";

const EVERY = 4000;

export interface Badges {
  answer: Answer | null;
  error: unknown;
  loading: boolean;
  rescan: () => void;
  retry: () => void;
  fresh: ReadonlySet<string>; // unlocked while we watched
}

/** One fetch on opening, aborted on leaving. While a scan runs, a silent one every four seconds: never two at once, none in a
 * hidden tab, none once the scan has ended. */
export function useBadges(host: Host): Badges {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const running = useRef<AbortController | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef<Answer | null>(null);

  const load = useCallback(async (): Promise<void> => {
    clearTimeout(timer.current);
    if (running.current) return;
    const asked = (running.current = new AbortController());
    try {
      const got = await host.fetchJson<Answer>(`${BASE}/achievements`, { signal: asked.signal });
      if (asked.signal.aborted) return;
      setFresh((before) => withNew(before, latest.current, got));
      latest.current = got;
      setAnswer(got);
      setError(null);
    } catch (problem) {
      if (!asked.signal.aborted) setError(problem);
    } finally {
      if (running.current === asked) running.current = null;
      if (!asked.signal.aborted) plan();
    }
  }, [host]);

  const plan = () => {
    clearTimeout(timer.current);
    if (latest.current && isScanning(latest.current) && !document.hidden) timer.current = setTimeout(() => void load(), EVERY);
  };

  useEffect(() => {
    void load();
    const seen = () => {
      clearTimeout(timer.current);
      if (!document.hidden && latest.current && isScanning(latest.current)) void load();
    };
    document.addEventListener("visibilitychange", seen);
    return () => {
      document.removeEventListener("visibilitychange", seen);
      clearTimeout(timer.current);
      running.current?.abort();
      running.current = null;
    };
  }, [load]);

  const rescan = useCallback(() => {
    host.fetchJson(`${BASE}/rescan`, { method: "POST" }).then(() => load(), setError);
  }, [host, load]);

  return { answer, error, loading: answer === null && !error, rescan, retry: () => void load(), fresh };
}

function withNew(before: ReadonlySet<string>, old: Answer | null, now: Answer): ReadonlySet<string> {
  if (!old) return before;
  const had = new Set(old.achievements.filter((one) => one.unlocked).map((one) => one.id));
  const added = now.achievements.filter((one) => one.unlocked && !had.has(one.id)).map((one) => one.id);
  return added.length ? new Set([...before, ...added]) : before;
}
