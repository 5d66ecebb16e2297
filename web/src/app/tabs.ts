// The tabs of the sidebar: our own pages and those of enabled plugins.
import { type ComponentType, createElement, lazy, useMemo } from "react";
import type { Page } from "@/app/definePage";
import type { IconName } from "@/components/Icon";
import { type Language, useI18n } from "@/i18n";
import { type PluginPage, usePlugins } from "@/plugins/pluginList";

const PluginFrame = lazy(() => import("@/plugins/PluginFrame").then((module) => ({ default: module.PluginFrame })));

export interface Tab {
  path: string;
  label: string;
  icon: IconName;
  component: ComponentType<{ rest: string }>;
}

const FOUND = Object.values(import.meta.glob<Page>("../*/page.ts", { eager: true, import: "default" })).sort(
  (a, b) => a.order - b.order,
);
const PAGES = FOUND.filter((page) => !page.plugin);

// Manifests name Lucide icons; these are the ones we have a counterpart for.
const LUCIDE_ICONS: Record<string, IconName> = {
  Star: "star",
  Trophy: "star",
  MessageSquare: "chat",
  MessageCircle: "chat",
  List: "list",
  BarChart: "chart",
  BarChart3: "chart",
  ChartBar: "chart",
  LineChart: "chart",
  Copy: "copy",
  Lightbulb: "bulb",
  Brain: "bulb",
  Settings: "gear",
  Cog: "gear",
  Download: "download",
  Search: "search",
  Pin: "pin",
  Box: "box",
  Package: "box",
  Archive: "box",
  Wrench: "tool",
  Hammer: "tool",
  Share: "share",
  Lock: "lock",
  RefreshCw: "refresh",
  Pencil: "pencil",
  Sun: "sun",
  Moon: "moon",
};
// Names that other dashboards use for our pages.
const PAGE_ALIASES: Record<string, string> = {
  analytics: "insights",
  skills: "memory",
  plugins: "settings",
  config: "settings",
};

export function useTabs(): Tab[] {
  const { language } = useI18n();
  const { pages } = usePlugins();
  return useMemo(() => buildTabs(language, pages), [language, pages]);
}

/** Until the plugins are known, the pages of the built-in ones stand where they nearly always do. */
function buildTabs(language: Language, plugins: PluginPage[] | null): Tab[] {
  const pages = plugins ? PAGES : FOUND;
  const tabs: Tab[] = pages.map((page) => ({ ...page, label: page.label[language] }));
  for (const plugin of plugins ?? []) {
    const tab = plugin.state === "on" ? buildTab(language, plugin) : null;
    if (tab && !tabs.some((other) => other.path === tab.path)) tabs.splice(findPosition(tabs, plugin.position), 0, tab);
  }
  return tabs;
}

function buildTab(language: Language, plugin: PluginPage): Tab | null {
  if (!plugin.built_in)
    return {
      path: plugin.path,
      label: plugin.label,
      icon: LUCIDE_ICONS[plugin.icon] ?? "puzzle",
      component: getFrameComponent(plugin),
    };
  const page = FOUND.find((found) => found.plugin === plugin.name);
  return page ? { path: plugin.path, label: page.label[language], icon: page.icon, component: page.component } : null;
}

const frameComponents = new Map<string, ComponentType<{ rest: string }>>();

/** The same component for the same frame, so that a refreshed list does not reload the page. */
function getFrameComponent(plugin: PluginPage): ComponentType<{ rest: string }> {
  const key = `${plugin.frame} ${plugin.needs.map((need) => need.name).join()}`;
  const component = frameComponents.get(key) ?? (() => createElement(PluginFrame, { plugin }));
  frameComponents.set(key, component);
  return component;
}

function findPosition(tabs: Tab[], position: string): number {
  const [where, page = ""] = position.split(":");
  const index = tabs.findIndex((tab) => tab.path === `/${PAGE_ALIASES[page] ?? page}`);
  if (index < 0 || where === "end") return tabs.length;
  return where === "before" ? index : index + 1;
}

/** Whether a path, with or without a query, belongs to a tab. */
export const isCurrentTab = (tab: Tab, path: string): boolean =>
  path === tab.path || path.startsWith(`${tab.path}/`) || path.startsWith(`${tab.path}?`);
