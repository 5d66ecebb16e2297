// The title of the tab: what is open, and a mark in front of it when something waits for the person.
import { useSyncExternalStore } from "react";

let title = "";
let waiting = 0;
const listeners = new Set<() => void>();

function update(): void {
  document.title = `${waiting ? `(${waiting}) ` : ""}${title ? `${title} · ` : ""}Sojourn`;
  for (const notify of listeners) notify();
}

export function setPageTitle(text: string): void {
  title = text;
  update();
}

/** How many sessions wait for an answer of the person. */
export function setWaiting(count: number): void {
  waiting = count;
  update();
}

function subscribe(notify: () => void): () => void {
  listeners.add(notify);
  return () => listeners.delete(notify);
}

export const usePageTitle = (): string => useSyncExternalStore(subscribe, () => title);
export const useWaiting = (): number => useSyncExternalStore(subscribe, () => waiting);
