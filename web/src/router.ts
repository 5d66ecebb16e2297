// Addresses are real paths, so that reload, back and links work.
import { useSyncExternalStore, type MouseEvent } from "react";

const CHANGED = "sojourn:navigated";

export function go(to: string, replace = false): void {
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  window.dispatchEvent(new Event(CHANGED));
}

function subscribe(changed: () => void): () => void {
  window.addEventListener("popstate", changed);
  window.addEventListener(CHANGED, changed);
  return () => {
    window.removeEventListener("popstate", changed);
    window.removeEventListener(CHANGED, changed);
  };
}

/** The path and the query, as one text. */
export const usePlace = (): string => useSyncExternalStore(subscribe, () => location.pathname + location.search);

export function follow(event: MouseEvent<HTMLAnchorElement>): void {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  go(event.currentTarget.getAttribute("href")!);
}
