import { useEffect } from "react";
import { navigate } from "@/router";

export type OpenDialog = "palette" | "help" | null;

/** Ctrl+K opens the command palette, `?` the help, `n` a new chat; `/` focuses the page's search box, or the sessions' one. */
export function useShortcuts(openDialog: (dialog: OpenDialog) => void): void {
  useEffect(() => {
    const handleKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openDialog("palette");
        return;
      }
      const target = event.target as HTMLElement;
      const isTyping = target.closest("input, textarea, select, dialog[open], [contenteditable]");
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
      if (event.key === "?") openDialog("help");
      else if (event.key === "n") {
        event.preventDefault();
        navigate("/chat/new");
      } else if (event.key === "/") {
        event.preventDefault();
        if (focusSearchBox()) return;
        navigate("/sessions");
        focusSearchBoxWhenThere();
      }
    };
    window.addEventListener("keydown", handleKey);
    return () => window.removeEventListener("keydown", handleKey);
  }, [openDialog]);
}

const FOCUS_MS = 5000; // how long a page may take to load

function focusSearchBox(): boolean {
  const searchBox = document.querySelector<HTMLInputElement>("main [data-search]");
  searchBox?.focus();
  return searchBox !== null;
}

function focusSearchBoxWhenThere(): void {
  const observer = new MutationObserver(() => {
    if (focusSearchBox()) observer.disconnect();
  });
  observer.observe(document.body, { childList: true, subtree: true });
  setTimeout(() => observer.disconnect(), FOCUS_MS);
}
