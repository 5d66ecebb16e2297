// Every page with its path, label, icon and component. A page is its own file, loaded when it is first opened.
import { lazy, type ComponentType } from "react";
import type { IconName } from "@/components/Icon";
import type { MessageKey } from "@/i18n";

interface Page {
  path: string;
  label: MessageKey;
  icon: IconName;
  component: ComponentType<{ rest: string }>;
}

export const PAGES: Page[] = [
  { path: "/chat", label: "nav.chat", icon: "chat", component: lazy(() => import("@/pages/Chat")) },
  { path: "/sessions", label: "nav.sessions", icon: "list", component: lazy(() => import("@/pages/Sessions")) },
  { path: "/insights", label: "nav.insights", icon: "chart", component: lazy(() => import("@/pages/Insights")) },
  { path: "/templates", label: "nav.templates", icon: "copy", component: lazy(() => import("@/pages/Templates")) },
  { path: "/memory", label: "nav.memory", icon: "bulb", component: lazy(() => import("@/pages/Memory")) },
  { path: "/gateway", label: "nav.gateway", icon: "tower", component: lazy(() => import("@/pages/Gateway")) },
  { path: "/import", label: "nav.import", icon: "download", component: lazy(() => import("@/pages/Import")) },
  { path: "/settings", label: "nav.settings", icon: "gear", component: lazy(() => import("@/pages/Settings")) },
];

/** Pages of built-in plugins. Their manifests set path and position; see pages/tabs.ts. */
export const BUILT_IN_PLUGIN_PAGES: Record<string, Omit<Page, "path">> = {
  "hermes-achievements": { label: "nav.achievements", icon: "star", component: lazy(() => import("@/pages/Achievements")) },
};
