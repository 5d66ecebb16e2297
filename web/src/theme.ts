// The colour theme: light, dark, or the system's.
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
