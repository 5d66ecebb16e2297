import { createRoot } from "react-dom/client";
import { App } from "@/app/App";
import { registerServiceWorker } from "@/offline/useServerReach";
import { applyTheme, getTheme } from "@/theme";
import "@/styles/tokens.css";
import "@/styles/base.css";
import "@/styles/primitives.css";
import "@/styles/shared.css";
import "@/styles/markdown.css";

applyTheme(getTheme());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => applyTheme(getTheme()));
createRoot(document.getElementById("app")!).render(<App />);
registerServiceWorker();
