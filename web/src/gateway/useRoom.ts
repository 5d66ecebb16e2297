import { useEffect, useState } from "react";
import { ApiError, wasAborted } from "@/api/http";
import { gatewayApi, type Note } from "@/gateway/gatewayApi";

const PAUSE = 1000; // milliseconds before a line that broke is taken up again
const FRESH = 40; // of the newest notes, a question may have been answered while the line was broken

/** A room as it is and as it goes on, by number. */
export function useRoom(room: string): { notes: Note[]; error: unknown } {
  const [notes, setNotes] = useState<Note[]>([]);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const leaving = new AbortController();
    const kept = new Map<number, Note>();
    setNotes([]);
    setError(null);
    const follow = async () => {
      let last = 0;
      while (!leaving.signal.aborted) {
        try {
          for await (const note of gatewayApi.notes(room, Math.max(0, last - FRESH), leaving.signal)) {
            kept.set(note.n, note);
            last = Math.max(last, note.n);
            setNotes([...kept.values()].sort((a, b) => a.n - b.n));
            setError(null);
          }
        } catch (problem) {
          if (wasAborted(problem) || leaving.signal.aborted) return;
          setError(problem);
          if (problem instanceof ApiError && problem.status >= 400 && problem.status < 500) return;
        }
        await new Promise((done) => setTimeout(done, PAUSE));
      }
    };
    void follow();
    return () => leaving.abort();
  }, [room]);
  return { notes, error };
}
