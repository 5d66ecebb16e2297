// The tabs of the sidebar: our own pages and those of enabled plugins.
import { createElement, useMemo, type ComponentType } from "react";
import type { IconName } from "@/components/Icon";
import { useI18n, type Translate } from "@/i18n";
import { BUILT_IN_PLUGIN_PAGES, PAGES } from "@/pages/registry";
import { PluginFrame } from "@/plugins/PluginFrame";
import { usePlugins, type PluginPage } from "@/plugins/pluginList";

interface Tab {
  path: string;
  label: string;
  icon: IconName;
  component: ComponentType<{ rest: string }>;
}

// Manifests name Lucide icons; these are the ones we have a counterpart for.
const LUCIDE_ICONS: Record<string, IconName> = {
  Star: "star", Trophy: "star", MessageSquare: "chat", MessageCircle: "chat", List: "list", BarChart: "chart", BarChart3: "chart",
  ChartBar: "chart", LineChart: "chart", Copy: "copy", Lightbulb: "bulb", Brain: "bulb", Settings: "gear", Cog: "gear", Download: "download",
  Search: "search", Pin: "pin", Box: "box", Package: "box", Archive: "box", Wrench: "tool", Hammer: "tool", Share: "share", Lock: "lock",
  RefreshCw: "refresh", Pencil: "pencil", Sun: "sun", Moon: "moon",
};
// Names that other dashboards use for our pages.
const PAGE_ALIASES: Record<string, string> = { analytics: "insights", skills: "memory", plugins: "settings", config: "settings" };

export function useTabs(): Tab[] {
  const { t } = useI18n();
  const { pages } = usePlugins();
  return useMemo(() => buildTabs(t, pages ?? []), [t, pages]);
}

function buildTabs(t: Translate, plugins: PluginPage[]): Tab[] {
  const tabs: Tab[] = PAGES.map((page) => ({ ...page, label: t(page.label) }));
  for (const plugin of plugins) {
    const tab = plugin.state === "on" ? buildTab(t, plugin) : null;
    if (tab && !tabs.some((other) => other.path === tab.path)) tabs.splice(findPosition(tabs, plugin.position), 0, tab);
  }
  return tabs;
}

function buildTab(t: Translate, plugin: PluginPage): Tab | null {
  if (!plugin.built_in) return { path: plugin.path, label: plugin.label, icon: LUCIDE_ICONS[plugin.icon] ?? "puzzle", component: getFrameComponent(plugin) };
  const page = BUILT_IN_PLUGIN_PAGES[plugin.name];
  return page ? { path: plugin.path, label: t(page.label), icon: page.icon, component: page.component } : null;
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
