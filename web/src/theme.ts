// Light, dark, or as the machine says.
export type Theme = "system" | "light" | "dark";

export function chosenTheme(): Theme {
  const kept = localStorage.getItem("sojourn.theme");
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem("sojourn.theme");
  else localStorage.setItem("sojourn.theme", theme);
  const dark = theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
}
