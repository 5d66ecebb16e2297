import { useEffect } from "react";
import { subscribeToChanges } from "@/api/changeFeed";
import { getJson } from "@/api/http";
import type { Session } from "@/api/types";
import { setWaiting } from "@/components/usePageTitle";
import { type Attention, compareStates, type States } from "@/notifications/attention";
import { getNotificationState, showNotification } from "@/notifications/browserNotifications";
import { useMessages } from "@/notifications/messages";
import { navigate } from "@/router";
import { getSessionLabel, getSessionUrl } from "@/sessions/sessionLinks";

const NEWEST = 60;
const PAUSE_MS = 1000; // between two looks

/** Counts what waits for the person in the tab's title and, with consent, notifies those who look elsewhere. */
export function AttentionWatcher(): null {
  const { t } = useMessages();
  useEffect(() => {
    const notify = ({ kind, session }: Attention) => {
      if (!document.hidden || getNotificationState() !== "on") return;
      const url = getSessionUrl(session.id);
      void showNotification(t(`notify.${kind}`), getSessionLabel(session), url, `${kind}-${session.id}`);
    };
    return watchSessions((sessions, attention) => {
      setWaiting(sessions.filter((session) => session.waiting).length);
      attention.forEach(notify);
    });
  }, [t]);
  useEffect(() => {
    const open = (event: Event) => {
      const { open: path } = ((event as MessageEvent).data ?? {}) as { open?: unknown };
      if (typeof path === "string" && path.startsWith("/")) navigate(path);
    };
    navigator.serviceWorker?.addEventListener("message", open);
    window.addEventListener("sojourn:open", open);
    return () => {
      navigator.serviceWorker?.removeEventListener("message", open);
      window.removeEventListener("sojourn:open", open);
    };
  }, []);
  return null;
}

/** Looks at the newest sessions after each change: at once, then not before a pause is over. */
function watchSessions(report: (sessions: Session[], attention: Attention[]) => void): () => void {
  const controller = new AbortController();
  let states: States | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isDue = false;
  const look = async () => {
    isDue = false;
    timer = setTimeout(handlePause, PAUSE_MS);
    try {
      const url = `/api/sessions?subagents=false&limit=${NEWEST}`;
      const { sessions } = await getJson<{ sessions: Session[] }>(url, controller.signal);
      const found = compareStates(states, sessions, performance.now());
      states = found.states;
      report(sessions, found.attention);
    } catch {
      // the page itself says that the server is away
    }
  };
  const handlePause = () => {
    timer = undefined;
    if (isDue) void look();
  };
  const unsubscribe = subscribeToChanges(() => {
    isDue = true;
    if (timer === undefined) void look();
  });
  void look();
  return () => {
    unsubscribe();
    controller.abort();
    clearTimeout(timer);
  };
}
