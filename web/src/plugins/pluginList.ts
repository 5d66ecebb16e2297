// The plugins that have a page, built-in ones included, as a React context.
import { createContext, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { getJson, isAbortError } from "@/api/http";

export interface Need {
  name: string;
  meaning: string;
}
export interface PluginPage {
  name: string;
  label: string;
  description: string;
  icon: string;
  version: string;
  path: string;
  position: string;
  built_in: boolean;
  state: "on" | "off" | "asks" | "broken";
  needs: Need[];
  has_api: boolean;
  frame: string | null;
  confined: boolean;
  problem: string;
  hint: string;
}
interface PluginList {
  pages: PluginPage[] | null; // null until the first response
  error: unknown;
  refresh: () => void;
}

export const PLUGINS_API = "/api/plugins/dashboard/plugins";
export const PluginsContext = createContext<PluginList>({ pages: null, error: null, refresh: () => undefined });
export const usePlugins = () => useContext(PluginsContext);

/** Loads the list once, and again whenever the tab becomes visible: a plugin may have been turned on elsewhere. */
export function usePluginList(): PluginList {
  const [pages, setPages] = useState<PluginPage[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [refreshes, setRefreshes] = useState(0);
  const refresh = useCallback(() => setRefreshes((n) => n + 1), []);
  useEffect(() => {
    const controller = new AbortController();
    getJson<PluginPage[]>(PLUGINS_API, controller.signal).then(
      (listed) => {
        setPages(listed);
        setError(null);
      },
      (problem: unknown) => {
        if (!isAbortError(problem)) setError(problem);
      },
    );
    return () => controller.abort();
  }, [refreshes]);
  useEffect(() => {
    const handleVisible = () => {
      if (!document.hidden) refresh();
    };
    document.addEventListener("visibilitychange", handleVisible);
    return () => document.removeEventListener("visibilitychange", handleVisible);
  }, [refresh]);
  return useMemo(() => ({ pages, error, refresh }), [pages, error, refresh]);
}
