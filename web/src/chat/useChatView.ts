import { useCallback, useEffect, useRef, useState } from "react";
import { isAbortError } from "@/api/http";
import type { Session } from "@/api/types";
import type { AnswerApproval } from "@/chat/ApprovalRequest";
import type { ChatEvent } from "@/chat/chatEvents";
import { applyEvents, buildView, type ChatView, EMPTY_VIEW, findRunningTurn, type TurnView } from "@/chat/chatView";
import { conversationApi, type TurnRequest } from "@/chat/conversationApi";

const MAX_REPLAYED_EVENTS = 3000; // a longer log starts from its transcript and follows only new events
const BATCH_MS = 40; // events that arrive within this time are rendered together

export interface Chat {
  session: Session | null;
  view: ChatView;
  running: TurnView | null;
  loading: boolean;
  connected: boolean;
  error: unknown;
  send: (request: TurnRequest) => Promise<void>;
  stop: () => void;
  answerApproval: AnswerApproval;
  takeOver: () => void;
  refresh: () => void;
}

/** A session's view model, kept current by its event stream, whichever surface drives it. */
export function useChatView(id: string): Chat {
  const [session, setSession] = useState<Session | null>(null);
  const [view, setView] = useState<ChatView>(EMPTY_VIEW);
  const [loading, setLoading] = useState(Boolean(id));
  const [connected, setConnected] = useState(true);
  const [error, setError] = useState<unknown>(null);
  const [reloads, setReloads] = useState(0);
  const queuedEvents = useRef<ChatEvent[]>([]);
  const refreshSession = useRef<() => void>(() => undefined);

  useEffect(() => {
    setSession(null);
    setView(EMPTY_VIEW);
    setError(null);
    setLoading(Boolean(id));
    if (!id) return;
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    queuedEvents.current = [];
    /** Reloads title and driver: a hand-off changes the driver without an event in the log. */
    const loadSession = () => {
      conversationApi.getSession(id, controller.signal).then(
        (loaded) => {
          setSession(loaded);
          setView((before) =>
            before.driver === loaded.driver ? before : { ...before, driver: loaded.driver ?? null },
          );
        },
        () => undefined,
      );
    };
    refreshSession.current = loadSession;
    const handleVisible = () => {
      if (!document.hidden) loadSession();
    };
    document.addEventListener("visibilitychange", handleVisible);
    window.addEventListener("focus", handleVisible);
    const applyQueued = () => {
      timer = undefined;
      const events = queuedEvents.current;
      queuedEvents.current = [];
      setView((before) => applyEvents(before, events));
      if (events.some((event) => event.name === "done" || event.name === "metadata")) loadSession();
    };
    const followEvents = async () => {
      const { session: loaded, start, after } = await loadStart(id, controller.signal);
      setSession(loaded);
      setView({ ...start, driver: loaded.driver ?? null });
      setLoading(false);
      for await (const event of conversationApi.chatStream(id, after, controller.signal, setConnected)) {
        queuedEvents.current.push(event);
        timer ??= setTimeout(applyQueued, BATCH_MS);
      }
    };
    followEvents().catch((problem: unknown) => {
      if (controller.signal.aborted || isAbortError(problem)) return;
      setError(problem);
      setLoading(false);
    });
    return () => {
      controller.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", handleVisible);
      window.removeEventListener("focus", handleVisible);
    };
  }, [id, reloads]);

  const refresh = useCallback(() => refreshSession.current(), []);
  const reportFailure = useCallback(<T>(work: Promise<T>) => void work.catch(setError), []);
  return {
    session,
    view,
    loading,
    connected,
    error,
    running: findRunningTurn(view),
    send: async (wish) => {
      setError(null);
      await conversationApi.startTurn(id, wish);
    },
    stop: () => reportFailure(conversationApi.stopTurn(id)),
    answerApproval: (question, choice, covers) =>
      reportFailure(conversationApi.answerApproval(id, question, choice, covers)),
    takeOver: () => reportFailure(conversationApi.takeOver(id).then(() => setReloads((n) => n + 1))),
    refresh,
  };
}

/** The initial view and the seq to follow from. A running turn is always replayed from its first event. */
async function loadStart(
  id: string,
  signal: AbortSignal,
): Promise<{ session: Session; start: ChatView; after: number }> {
  const session = await conversationApi.getSession(id, signal);
  if (session.last_seq <= MAX_REPLAYED_EVENTS) return { session, start: EMPTY_VIEW, after: 0 };
  const running = await conversationApi.getRunningTurn(id, signal);
  const messages = await conversationApi.listMessages(id, signal);
  const first = running === null ? undefined : messages.find((message) => message.turn_id === running);
  const after = first ? first.seq - 1 : session.last_seq;
  return { session, start: { ...buildView(messages.filter((message) => message.seq <= after)), seq: after }, after };
}
