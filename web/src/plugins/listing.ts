// Which plugins have a page. The tabs beside our own come from here, those of built-in plugins too.
import { createContext, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { getJson, wasAborted } from "@/api/http";

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
export interface Listing {
  pages: PluginPage[] | null; // null: not known yet
  error: unknown;
  refresh: () => void;
}

export const PLUGINS = "/api/plugins/dashboard/plugins";
export const Plugins = createContext<Listing>({ pages: null, error: null, refresh: () => undefined });
export const usePlugins = () => useContext(Plugins);

/** Asked once, and again when somebody comes back to the window: a plugin may have been turned on elsewhere. */
export function useListing(): Listing {
  const [pages, setPages] = useState<PluginPage[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [asked, setAsked] = useState(0);
  const refresh = useCallback(() => setAsked((n) => n + 1), []);
  useEffect(() => {
    const leaving = new AbortController();
    getJson<PluginPage[]>(PLUGINS, leaving.signal).then(
      (found) => { setPages(found); setError(null); },
      (problem: unknown) => { if (!wasAborted(problem)) setError(problem); },
    );
    return () => leaving.abort();
  }, [asked]);
  useEffect(() => {
    const back = () => { if (!document.hidden) refresh(); };
    document.addEventListener("visibilitychange", back);
    return () => document.removeEventListener("visibilitychange", back);
  }, [refresh]);
  return useMemo(() => ({ pages, error, refresh }), [pages, error, refresh]);
}
