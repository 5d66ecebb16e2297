import { createRoot } from "react-dom/client";
import { App } from "@/App";
import { applyTheme, getTheme } from "@/theme";
import "@/styles/base.css";
import "@/styles/shared.css";
import "@/styles/markdown.css";
import "@/styles/chat.css";
import "@/styles/approvals.css";
import "@/styles/sessions.css";
import "@/styles/gateway.css";
import "@/styles/insights.css";
import "@/styles/plugins.css";
import "@/achievements/achievements.css";

applyTheme(getTheme());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => applyTheme(getTheme()));
createRoot(document.getElementById("app")!).render(<App />);
