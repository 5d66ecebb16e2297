// Our own pages and those of plugins that are on, in one row.
import { createElement, useMemo, type ComponentType } from "react";
import type { IconName } from "@/components/Icon";
import { useWords, type Translate } from "@/i18n";
import { BUILT_IN, PAGES } from "@/pages/registry";
import { PluginFrame } from "@/plugins/PluginFrame";
import { usePlugins, type PluginPage } from "@/plugins/listing";

export interface Tab {
  path: string;
  label: string;
  icon: IconName;
  component: ComponentType<{ rest: string }>;
}

// Manifests name Lucide icons; these are the ones we have something like.
const ICONS: Record<string, IconName> = {
  Star: "star", Trophy: "star", MessageSquare: "chat", MessageCircle: "chat", List: "list", BarChart: "chart", BarChart3: "chart",
  ChartBar: "chart", LineChart: "chart", Copy: "copy", Lightbulb: "bulb", Brain: "bulb", Settings: "gear", Cog: "gear", Download: "download",
  Search: "search", Pin: "pin", Box: "box", Package: "box", Archive: "box", Wrench: "tool", Hammer: "tool", Share: "share", Lock: "lock",
  RefreshCw: "refresh", Pencil: "pencil", Sun: "sun", Moon: "moon",
};
// What other dashboards call a page of ours.
const ALIASES: Record<string, string> = { analytics: "insights", skills: "memory", plugins: "settings", config: "settings" };

export function useTabs(): Tab[] {
  const { t } = useWords();
  const { pages } = usePlugins();
  return useMemo(() => tabs(t, pages ?? []), [t, pages]);
}

export function tabs(t: Translate, listed: PluginPage[]): Tab[] {
  const row: Tab[] = PAGES.map((page) => ({ ...page, label: t(page.label) }));
  for (const one of listed) {
    const tab = one.state === "on" ? tabOf(t, one) : null;
    if (tab && !row.some((other) => other.path === tab.path)) row.splice(place(row, one.position), 0, tab);
  }
  return row;
}

function tabOf(t: Translate, one: PluginPage): Tab | null {
  if (!one.built_in) return { path: one.path, label: one.label, icon: ICONS[one.icon] ?? "puzzle", component: framed(one) };
  const ours = BUILT_IN[one.name];
  return ours ? { path: one.path, label: t(ours.label), icon: ours.icon, component: ours.component } : null;
}

const known = new Map<string, ComponentType<{ rest: string }>>();

/** The same component for the same frame, so that a fresh listing does not load the page again. */
function framed(one: PluginPage): ComponentType<{ rest: string }> {
  const key = `${one.frame} ${one.needs.map((need) => need.name).join()}`;
  const made = known.get(key) ?? (() => createElement(PluginFrame, { plugin: one }));
  known.set(key, made);
  return made;
}

function place(row: Tab[], position: string): number {
  const [where, page = ""] = position.split(":");
  const at = row.findIndex((one) => one.path === `/${ALIASES[page] ?? page}`);
  if (at < 0 || where === "end") return row.length;
  return where === "before" ? at : at + 1;
}
