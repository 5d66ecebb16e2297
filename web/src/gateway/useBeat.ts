import { useCallback, useEffect, useRef, useState } from "react";
import { wasAborted } from "@/api/http";

export interface Beat<T> {
  value: T | null;
  error: unknown;
  again: () => void;
}

/** Asks at once and then again and again, never twice at a time, and not in a tab that nobody sees. */
export function useBeat<T>(ask: (signal: AbortSignal) => Promise<T>, seconds = 4): Beat<T> {
  const [value, setValue] = useState<T | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);
  const asked = useRef(ask);
  asked.current = ask;
  useEffect(() => {
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const beat = async () => {
      if (!document.hidden) {
        try {
          setValue(await asked.current(leaving.signal));
          setError(null);
        } catch (problem) {
          if (!wasAborted(problem)) setError(problem);
        }
      }
      if (!leaving.signal.aborted) timer = setTimeout(() => void beat(), seconds * 1000);
    };
    void beat();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [round, seconds]);
  return { value, error, again: useCallback(() => setRound((n) => n + 1), []) };
}
