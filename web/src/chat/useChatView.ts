import { useCallback, useEffect, useRef, useState } from "react";
import type { Session } from "@/api/types";
import { conversationApi, type Wish } from "@/chat/conversationApi";
import { newKey } from "@/chat/keys";
import type { ChatEvent } from "@/chat/events";
import { advance, EMPTY, ofMessages, runningTurn, type ChatView, type TurnView } from "@/chat/view";
import { wasAborted } from "@/api/http";

const ALL_OF_IT = 3000; // a log up to here is told from its beginning; of a longer one, the transcript and what follows
const TOGETHER = 40; // milliseconds of events drawn at once

export interface Chat {
  session: Session | null;
  view: ChatView;
  running: TurnView | null;
  loading: boolean;
  connected: boolean;
  error: unknown;
  say: (wish: Wish) => Promise<void>;
  stop: () => void;
  approve: (question: string, choice: string) => void;
  take: () => void;
  refresh: () => void;
}

/** One session, as it is now and as it goes on, whoever drives it. */
export function useChatView(id: string): Chat {
  const [session, setSession] = useState<Session | null>(null);
  const [view, setView] = useState<ChatView>(EMPTY);
  const [loading, setLoading] = useState(Boolean(id));
  const [connected, setConnected] = useState(true);
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);
  const waiting = useRef<ChatEvent[]>([]);
  const looking = useRef<() => void>(() => undefined);

  useEffect(() => {
    setSession(null);
    setView(EMPTY);
    setError(null);
    setLoading(Boolean(id));
    if (!id) return;
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    waiting.current = [];
    /** The row itself: its title, and who drives, which changes without a word in the log when it is handed over. */
    const look = () => {
      conversationApi.session(id, leaving.signal).then((found) => {
        setSession(found);
        setView((before) => (before.driver === found.driver ? before : { ...before, driver: found.driver }));
      }, () => undefined);
    };
    looking.current = look;
    const seen = () => { if (!document.hidden) look(); };
    document.addEventListener("visibilitychange", seen);
    window.addEventListener("focus", seen);
    const draw = () => {
      timer = undefined;
      const events = waiting.current;
      waiting.current = [];
      setView((before) => advance(before, events));
      if (events.some((one) => one.name === "done" || one.name === "metadata")) look();
    };
    const follow = async () => {
      const { session: found, start, after } = await beginning(id, leaving.signal);
      setSession(found);
      setView({ ...start, driver: found.driver });
      setLoading(false);
      for await (const event of conversationApi.chatStream(id, after, leaving.signal, setConnected)) {
        waiting.current.push(event);
        timer ??= setTimeout(draw, TOGETHER);
      }
    };
    follow().catch((problem: unknown) => {
      if (leaving.signal.aborted || wasAborted(problem)) return;
      setError(problem);
      setLoading(false);
    });
    return () => {
      leaving.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
      window.removeEventListener("focus", seen);
    };
  }, [id, round]);

  const refresh = useCallback(() => looking.current(), []);
  const failing = useCallback(<T,>(work: Promise<T>) => void work.catch(setError), []);
  return {
    session, view, loading, connected, error, running: runningTurn(view),
    say: async (wish) => {
      setError(null);
      await conversationApi.say(id, wish, newKey());
    },
    stop: () => failing(conversationApi.stop(id)),
    approve: (question, choice) => failing(conversationApi.approve(id, question, choice)),
    take: () => failing(conversationApi.take(id).then(() => setRound((n) => n + 1))),
    refresh,
  };
}

/** Where to start following, and what to show until then. A running turn is always followed from its first word. */
async function beginning(id: string, signal: AbortSignal): Promise<{ session: Session; start: ChatView; after: number }> {
  const session = await conversationApi.session(id, signal);
  if (session.last_seq <= ALL_OF_IT) return { session, start: EMPTY, after: 0 };
  const running = await conversationApi.running(id, signal);
  const messages = await conversationApi.messages(id, signal);
  const first = running === null ? undefined : messages.find((one) => one.turn_id === running);
  const after = first ? first.seq - 1 : session.last_seq;
  return { session, start: { ...ofMessages(messages.filter((one) => one.seq <= after)), seq: after }, after };
}
