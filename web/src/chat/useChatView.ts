import { startTransition, useCallback, useEffect, useRef, useState } from "react";
import { isAbortError } from "@/api/http";
import type { Session } from "@/api/types";
import type { AnswerApproval } from "@/chat/ApprovalRequest";
import type { ChatEvent } from "@/chat/chatEvents";
import { applyEvents, type ChatView, EMPTY_VIEW, findRunningTurn, rebuildView, type TurnView } from "@/chat/chatView";
import { conversationApi, type TurnRequest } from "@/chat/conversationApi";

const WINDOW = 160; // log entries read at a time
const OLDER_WINDOW = 60; // the same, on the way up
const BEFORE_ANCHOR = 40; // entries above a message that a link leads to
const BATCH_MS = 40; // events that arrive within this time are rendered together

export interface Conversation {
  session: Session | null;
  view: ChatView;
  running: TurnView | null;
  loading: boolean;
  connected: boolean;
  hasOlder: boolean;
  hasNewer: boolean;
  error: unknown;
  loadOlder: () => void;
  loadNewer: () => void;
  send: (request: TurnRequest) => Promise<void>;
  stop: () => void;
  answerApproval: AnswerApproval;
  takeOver: () => Promise<void>;
  refresh: () => void;
  setSession: (session: Session) => void;
  clearError: () => void;
}

/** The log of a session as it is loaded: a window around a message or at the end, which grows in both directions. */
interface Log {
  id: string;
  events: ChatEvent[];
  isLive: boolean;
  isLoading: boolean;
  controller: AbortController;
}

/** A session's view model, kept current by its event stream, whichever surface drives it. `anchor` is a message to begin at. */
export function useChatView(id: string, anchor: number): Conversation {
  const [session, setSession] = useState<Session | null>(null);
  const [view, setView] = useState<ChatView>(EMPTY_VIEW);
  const [loading, setLoading] = useState(Boolean(id));
  const [connected, setConnected] = useState(true);
  const [hasOlder, setHasOlder] = useState(false);
  const [hasNewer, setHasNewer] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const log = useRef<Log | null>(null);
  const start = useAnchoredStart(id, anchor, log);

  const loadSession = useCallback(() => {
    const current = log.current;
    if (!current) return;
    conversationApi.getSession(current.id, current.controller.signal).then(
      (loaded) => {
        setSession(loaded);
        setView((before) => (before.driver === loaded.driver ? before : { ...before, driver: loaded.driver ?? null }));
      },
      () => undefined,
    );
  }, []);

  useEffect(() => {
    setSession(null);
    setView(EMPTY_VIEW);
    setError(null);
    setHasOlder(false);
    setHasNewer(false);
    setLoading(Boolean(id));
    if (!id) {
      log.current = null;
      return;
    }
    const current: Log = { id, events: [], isLive: false, isLoading: true, controller: new AbortController() };
    log.current = current;
    const { signal } = current.controller;
    const handleVisible = () => {
      if (!document.hidden) loadSession();
    };
    document.addEventListener("visibilitychange", handleVisible);
    window.addEventListener("focus", handleVisible);
    const open = async () => {
      const loaded = await conversationApi.getSession(id, signal);
      setSession(loaded);
      setView({ ...EMPTY_VIEW, driver: loaded.driver ?? null });
      const from = await findStart(loaded, start.seq, signal);
      if (start.seq && loaded.last_seq - start.seq > 2 * WINDOW) {
        current.events = await conversationApi.readLog(id, from, start.seq + WINDOW - BEFORE_ANCHOR, signal);
        setView((before) => rebuildView(before, current.events));
        setHasNewer(true);
      }
      setHasOlder(from > 0);
      current.isLoading = false;
      if (!current.events.length) await follow(current, from);
      else setLoading(false);
    };
    open().catch((problem: unknown) => {
      if (signal.aborted || isAbortError(problem)) return;
      setError(problem);
      setLoading(false);
    });
    return () => {
      current.controller.abort();
      document.removeEventListener("visibilitychange", handleVisible);
      window.removeEventListener("focus", handleVisible);
    };
  }, [id, start]);

  /** Follows the log from a number on: what is there, then what comes. */
  const follow = async (current: Log, after: number): Promise<void> => {
    current.isLive = true;
    setHasNewer(false);
    let waiting: ChatEvent[] = [];
    let _timer: ReturnType<typeof setTimeout> | undefined;
    const apply = () => {
      _timer = undefined;
      if (current.controller.signal.aborted) return;
      const events = waiting;
      waiting = [];
      current.events = [...current.events, ...events];
      setView((before) => applyEvents(before, events));
      setLoading(false);
      if (events.some((event) => event.name === "done" || event.name === "metadata")) loadSession();
    };
    const quiet = setTimeout(() => setLoading(false), 400); // an empty log says nothing
    try {
      for await (const event of conversationApi.chatStream(
        current.id,
        after,
        current.controller.signal,
        setConnected,
      )) {
        waiting.push(event);
        _timer ??= setTimeout(apply, BATCH_MS);
      }
    } finally {
      clearTimeout(quiet);
    }
  };

  const loadOlder = useCallback(() => {
    const current = log.current;
    const first = current?.events[0]?.seq;
    if (!current || !first || current.isLoading) return;
    current.isLoading = true;
    const { signal } = current.controller;
    readBefore(current.id, first, signal)
      .then(({ events, from }) => {
        current.events = [...events, ...current.events];
        startTransition(() => {
          setView((before) => rebuildView(before, current.events)); // in pieces, so that scrolling stays smooth
          setHasOlder(from > 0);
        });
      })
      .catch((problem: unknown) => {
        if (!isAbortError(problem)) setError(problem);
      })
      .finally(() => {
        current.isLoading = false;
      });
  }, []);

  const loadNewer = useCallback(() => {
    const current = log.current;
    const last = current?.events.at(-1)?.seq;
    if (!current || !last || current.isLoading || current.isLive) return;
    current.isLoading = true;
    const { signal } = current.controller;
    const read = async () => {
      const { last_seq } = await conversationApi.getSession(current.id, signal);
      if (last_seq - last <= 2 * WINDOW) {
        current.isLoading = false;
        return follow(current, last);
      }
      const events = await conversationApi.readLog(current.id, last, last + WINDOW, signal);
      current.events = [...current.events, ...events];
      setView((before) => applyEvents(before, events));
      current.isLoading = false;
    };
    read().catch((problem: unknown) => {
      current.isLoading = false;
      if (!isAbortError(problem)) setError(problem);
    });
  }, []);

  const report = useCallback(<T>(work: Promise<T>) => void work.catch(setError), []);
  return {
    session,
    view,
    loading,
    connected,
    hasOlder,
    hasNewer,
    error,
    running: findRunningTurn(view),
    loadOlder,
    loadNewer,
    send: async (request) => {
      setError(null);
      await conversationApi.startTurn(id, request);
    },
    stop: () => report(conversationApi.stopTurn(id)),
    answerApproval: (question, choice, covers) => report(conversationApi.answerApproval(id, question, choice, covers)),
    takeOver: async () => {
      setError(null);
      const taken = await conversationApi.takeOver(id);
      setSession(taken);
      setView((before) => ({ ...before, driver: taken.driver ?? null }));
    },
    refresh: loadSession,
    setSession,
    clearError: () => setError(null),
  };
}

/** Where the log is opened. A message that is loaded already needs no other window. */
function useAnchoredStart(id: string, anchor: number, log: React.RefObject<Log | null>): { id: string; seq: number } {
  const start = useRef({ id, seq: anchor });
  const current = log.current;
  const isLoaded = (seq: number) =>
    current?.id === id &&
    current.events.length > 0 &&
    seq >= current.events[0]!.seq &&
    (current.isLive || seq <= current.events.at(-1)!.seq);
  if (start.current.id !== id) start.current = { id, seq: anchor };
  else if (anchor !== start.current.seq && (anchor ? !isLoaded(anchor) : start.current.seq && !current?.isLive))
    start.current = { id, seq: anchor };
  return start.current;
}

/** The number to read from. A running turn is always read from its first event, or its words would miss their beginning. */
async function findStart(session: Session, anchor: number, signal: AbortSignal): Promise<number> {
  if (anchor) return Math.max(0, Math.min(anchor, session.last_seq) - BEFORE_ANCHOR);
  const from = Math.max(0, session.last_seq - WINDOW);
  if (!from) return 0;
  const turn = await conversationApi.getRunningTurn(session.id, signal);
  if (!turn) return from;
  const { messages } = await conversationApi.readNewest(session.id, 60, signal);
  const first = messages.find((message) => message.turn_id === turn);
  return first ? Math.min(from, first.seq - 1) : from;
}

/** Log entries below a number: at least some, unless it is the beginning. */
async function readBefore(id: string, before: number, signal: AbortSignal) {
  for (let size = OLDER_WINDOW; ; size *= 4) {
    const from = Math.max(0, before - 1 - size);
    const events = await conversationApi.readLog(id, from, before - 1, signal);
    if (events.length || from === 0) return { events, from };
  }
}
