// A small router on the history API: pages have real paths, so reload, back and links work.
import { type MouseEvent, useSyncExternalStore } from "react";

const NAVIGATED_EVENT = "sojourn:navigated";

export function navigate(to: string, replace = false): void {
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  window.dispatchEvent(new Event(NAVIGATED_EVENT));
}

function subscribe(notify: () => void): () => void {
  window.addEventListener("popstate", notify);
  window.addEventListener(NAVIGATED_EVENT, notify);
  return () => {
    window.removeEventListener("popstate", notify);
    window.removeEventListener(NAVIGATED_EVENT, notify);
  };
}

/** Path and query of the current page, as one string. */
export const useLocation = (): string => useSyncExternalStore(subscribe, () => location.pathname + location.search);

/** A click handler for internal links: navigates without a page load, unless the person wants a new tab. */
export function followLink(event: MouseEvent<HTMLAnchorElement>): void {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  navigate(event.currentTarget.getAttribute("href")!);
}
