import { useSyncExternalStore } from "react";
import type { RuntimeInfo } from "@/api/types";
import { conversationApi } from "@/chat/conversationApi";

let runtimes: RuntimeInfo[] = [];
let isAsked = false;
const listeners = new Set<() => void>();

/** Asks again what can think here, for instance after a model was set up. */
export function refreshRuntimes(): void {
  isAsked = true;
  conversationApi.listRuntimes().then(
    (found) => {
      runtimes = found;
      for (const notify of listeners) notify();
    },
    () => {
      isAsked = false;
    },
  );
}

function subscribe(notify: () => void): () => void {
  listeners.add(notify);
  if (!isAsked) refreshRuntimes();
  return () => listeners.delete(notify);
}

/** What can think here, asked once for the whole page. */
export const useRuntimes = (): RuntimeInfo[] => useSyncExternalStore(subscribe, () => runtimes);
