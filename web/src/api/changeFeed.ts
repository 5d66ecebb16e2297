// The feed of changes to all sessions: one connection for all tabs of a browser, since it allows only six to one server.
import { isAbortError } from "@/api/http";
import { streamFrames } from "@/api/sse";

const CHANNEL = "sojourn.changes";
const RECONNECT_MS = 3000;
const listeners = new Set<() => void>();
let end: (() => void) | null = null;

/** Calls `notify` after each change of a session, here or elsewhere, until the returned function is called. */
export function subscribeToChanges(notify: () => void): () => void {
  listeners.add(notify);
  end ??= start();
  return () => {
    listeners.delete(notify);
    if (listeners.size) return;
    end?.();
    end = null;
  };
}

function start(): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  const channel = new BroadcastChannel(CHANNEL);
  const tell = () => {
    for (const notify of listeners) notify();
  };
  channel.onmessage = tell;
  const follow = () =>
    followChanges(signal, () => {
      tell();
      channel.postMessage(null);
    });
  if (navigator.locks) navigator.locks.request(CHANNEL, { signal }, follow).catch(() => undefined);
  else void follow(); // without a secure address each tab follows by itself
  return () => {
    controller.abort();
    channel.close();
  };
}

async function followChanges(signal: AbortSignal, notify: () => void): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const _ of streamFrames("/api/changes", { signal })) notify();
    } catch (problem) {
      if (isAbortError(problem) || signal.aborted) return;
    }
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
  }
}
