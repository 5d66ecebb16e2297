// The colour theme: light, dark, or the system's.
import { useSyncExternalStore } from "react";

type Theme = "system" | "light" | "dark";

export function getTheme(): Theme {
  const stored = localStorage.getItem("sojourn.theme");
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem("sojourn.theme");
  else localStorage.setItem("sojourn.theme", theme);
  const isDark = theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
}

function subscribe(notify: () => void): () => void {
  const observer = new MutationObserver(notify);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => observer.disconnect();
}

/** The theme as it is shown now. */
export const useTheme = (): "light" | "dark" =>
  useSyncExternalStore(subscribe, () => (document.documentElement.dataset["theme"] === "dark" ? "dark" : "light"));
