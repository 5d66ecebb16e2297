import { createRoot } from "react-dom/client";
import { App } from "@/App";
import { applyTheme, chosenTheme } from "@/theme";
import "@/styles/base.css";
import "@/styles/pages.css";
import "@/achievements/achievements.css";

applyTheme(chosenTheme());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => applyTheme(chosenTheme()));
createRoot(document.getElementById("app")!).render(<App />);
