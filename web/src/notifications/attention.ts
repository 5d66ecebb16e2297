// What needs a person's attention: sessions that wait for an answer, and long turns that have ended. Pure.
import type { Session } from "@/api/types";

export const LONG_TURN_MS = 20_000;

export interface SessionState {
  isWaiting: boolean;
  runningSince: number | null;
}
export type States = ReadonlyMap<string, SessionState>;
export interface Attention {
  kind: "waiting" | "done";
  session: Session;
}

type Row = Pick<Session, "id" | "waiting" | "running">;

/** The states after a new look at the newest sessions, and what has come up since the last one. */
export function compareStates<One extends Row>(
  before: States | null,
  sessions: One[],
  now: number,
): { states: States; attention: Array<{ kind: Attention["kind"]; session: One }> } {
  const states = new Map<string, SessionState>();
  const attention: Array<{ kind: Attention["kind"]; session: One }> = [];
  for (const session of sessions) {
    const old = before?.get(session.id);
    states.set(session.id, {
      isWaiting: session.waiting,
      runningSince: session.running ? (old?.runningSince ?? now) : null,
    });
    if (!before) continue; // what was there when the page was opened is no news
    if (session.waiting && !old?.isWaiting) attention.push({ kind: "waiting", session });
    const since = old?.runningSince ?? null;
    if (!session.running && since !== null && now - since >= LONG_TURN_MS) attention.push({ kind: "done", session });
  }
  return { states, attention };
}
