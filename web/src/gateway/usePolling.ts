import { useCallback, useEffect, useRef, useState } from "react";
import { isAbortError } from "@/api/http";

export interface Polled<T> {
  data: T | null;
  error: unknown;
  refresh: () => void;
}

/** Loads at once and then every few seconds: never two requests at a time, none in a hidden tab. */
export function usePolling<T>(load: (signal: AbortSignal) => Promise<T>, seconds = 4): Polled<T> {
  const [data, setData] = useState<T | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [refreshes, setRefreshes] = useState(0);
  const latestLoad = useRef(load);
  latestLoad.current = load;
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const poll = async () => {
      if (!document.hidden) {
        try {
          setData(await latestLoad.current(controller.signal));
          setError(null);
        } catch (problem) {
          if (!isAbortError(problem)) setError(problem);
        }
      }
      if (!controller.signal.aborted) timer = setTimeout(() => void poll(), seconds * 1000);
    };
    void poll();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [refreshes, seconds]);
  return { data, error, refresh: useCallback(() => setRefreshes((n) => n + 1), []) };
}
