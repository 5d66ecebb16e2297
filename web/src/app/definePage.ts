// A page of the dashboard. Each folder with a `page.ts` is one; it is loaded when it is first opened.
import { type ComponentType, lazy } from "react";
import type { IconName } from "@/components/Icon";
import type { Language } from "@/i18n";

export type PageComponent = ComponentType<{ rest: string }>;

interface PageDefinition {
  path: string;
  order: number; // its place in the sidebar
  icon: IconName;
  label: Record<Language, string>;
  load: () => Promise<{ default: PageComponent }>;
  plugin?: string; // the built-in plugin it belongs to, whose manifest sets path and position
}
export type Page = Omit<PageDefinition, "load"> & { component: PageComponent };

export function definePage({ load, ...page }: PageDefinition): Page {
  return { ...page, component: lazy(load) };
}
