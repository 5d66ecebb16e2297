import { useCallback, useEffect, useRef, useState } from "react";
import { ACHIEVEMENTS_API, type AchievementsHost, type AchievementsResponse, isScanning } from "./types";

const POLL_MS = 4000;

interface Badges {
  response: AchievementsResponse | null;
  error: unknown;
  loading: boolean;
  rescan: () => void;
  retry: () => void;
  newlyUnlocked: ReadonlySet<string>; // ids of badges unlocked while the page was open
}

/** Loads the badges once. While a scan runs, polls every four seconds: never two requests at a time, none in a hidden tab. */
export function useBadges(host: AchievementsHost): Badges {
  const [response, setResponse] = useState<AchievementsResponse | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [newlyUnlocked, setNewlyUnlocked] = useState<ReadonlySet<string>>(new Set());
  const activeFetch = useRef<AbortController | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef<AchievementsResponse | null>(null);

  const load = useCallback(async (): Promise<void> => {
    clearTimeout(timer.current);
    if (activeFetch.current) return;
    const controller = (activeFetch.current = new AbortController());
    try {
      const received = await host.fetchJson<AchievementsResponse>(`${ACHIEVEMENTS_API}/achievements`, {
        signal: controller.signal,
      });
      if (controller.signal.aborted) return;
      setNewlyUnlocked((known) => addUnlocked(known, latest.current, received));
      latest.current = received;
      setResponse(received);
      setError(null);
    } catch (problem) {
      if (!controller.signal.aborted) setError(problem);
    } finally {
      if (activeFetch.current === controller) activeFetch.current = null;
      if (!controller.signal.aborted) schedulePoll();
    }
  }, [host]);

  const schedulePoll = () => {
    clearTimeout(timer.current);
    if (latest.current && isScanning(latest.current) && !document.hidden)
      timer.current = setTimeout(() => void load(), POLL_MS);
  };

  useEffect(() => {
    void load();
    const handleVisible = () => {
      clearTimeout(timer.current);
      if (!document.hidden && latest.current && isScanning(latest.current)) void load();
    };
    document.addEventListener("visibilitychange", handleVisible);
    return () => {
      document.removeEventListener("visibilitychange", handleVisible);
      clearTimeout(timer.current);
      activeFetch.current?.abort();
      activeFetch.current = null;
    };
  }, [load]);

  const rescan = useCallback(() => {
    host.fetchJson(`${ACHIEVEMENTS_API}/rescan`, { method: "POST" }).then(() => load(), setError);
  }, [host, load]);

  return { response, error, loading: response === null && !error, rescan, retry: () => void load(), newlyUnlocked };
}

function addUnlocked(
  known: ReadonlySet<string>,
  before: AchievementsResponse | null,
  after: AchievementsResponse,
): ReadonlySet<string> {
  if (!before) return known;
  const unlockedBefore = new Set(before.achievements.filter((badge) => badge.unlocked).map((badge) => badge.id));
  const added = after.achievements
    .filter((badge) => badge.unlocked && !unlockedBefore.has(badge.id))
    .map((badge) => badge.id);
  return added.length ? new Set([...known, ...added]) : known;
}
