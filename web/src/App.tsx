import { Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { SIGNED_OUT_EVENT } from "@/api/http";
import { NoticeBanner } from "@/approvals/NoticeBanner";
import { CommandPalette } from "@/components/CommandPalette";
import { ErrorBoundary } from "@/components/ErrorBoundary";
import { ErrorMessage } from "@/components/ErrorMessage";
import { KeyboardHelp } from "@/components/KeyboardHelp";
import { Sidebar } from "@/components/Sidebar";
import { buildTranslator, getLanguage, I18nContext, type Language } from "@/i18n";
import { SignIn } from "@/pages/SignIn";
import { useTabs } from "@/pages/tabs";
import { Welcome } from "@/pages/Welcome";
import { PluginsContext, usePluginList, usePlugins } from "@/plugins/pluginList";
import { navigate, useLocation } from "@/router";

export function App() {
  const [language, setLanguage] = useState<Language>(getLanguage);
  const [isSignedOut, setIsSignedOut] = useState(false);
  const [open, setOpen] = useState<"palette" | "help" | null>(null);
  const storeLanguage = useCallback((chosen: Language) => {
    localStorage.setItem("sojourn.language", chosen);
    setLanguage(chosen);
  }, []);
  const i18n = useMemo(() => ({ t: buildTranslator(language), language, setLanguage: storeLanguage }), [language, storeLanguage]);

  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  useEffect(() => {
    const handleSignedOut = () => setIsSignedOut(true);
    window.addEventListener(SIGNED_OUT_EVENT, handleSignedOut);
    return () => window.removeEventListener(SIGNED_OUT_EVENT, handleSignedOut);
  }, []);
  useShortcuts(setOpen);
  const plugins = usePluginList();

  return (
    <I18nContext.Provider value={i18n}>
      <PluginsContext.Provider value={plugins}>
        {isSignedOut ? (
          <SignIn />
        ) : (
          <div className="app-shell">
            <a className="skip-link" href="#main">{i18n.t("nav.skip")}</a>
            <Sidebar openPalette={() => setOpen("palette")} openHelp={() => setOpen("help")} />
            <main id="main" tabIndex={-1}>
              <NoticeBanner />
              <CurrentPage />
            </main>
          </div>
        )}
        {open === "palette" && <CommandPalette close={() => setOpen(null)} />}
        {open === "help" && <KeyboardHelp close={() => setOpen(null)} />}
      </PluginsContext.Provider>
    </I18nContext.Provider>
  );
}

function CurrentPage() {
  const path = useLocation().split("?")[0]!;
  const { pages, error, refresh } = usePlugins();
  const page = useTabs().find((tab) => path === tab.path || path.startsWith(`${tab.path}/`));
  if (!page && path !== "/" && !pages) return <div className="page" aria-busy={!error}><ErrorMessage error={error} retry={refresh} /></div>;
  if (!page) return <Welcome />;
  const rest = decodeURIComponent(path.slice(page.path.length + 1));
  return (
    <ErrorBoundary key={page.path}>
      <Suspense fallback={<div className="page" aria-busy="true" />}>
        <page.component rest={rest} />
      </Suspense>
    </ErrorBoundary>
  );
}

/** Ctrl+K opens the command palette, `?` the help; `/` focuses the page's search box, or opens the sessions. */
function useShortcuts(openDialog: (dialog: "palette" | "help" | null) => void): void {
  useEffect(() => {
    const handleKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openDialog("palette");
        return;
      }
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog[open], [contenteditable]")) return;
      if (event.key === "?") openDialog("help");
      else if (event.key === "/") {
        event.preventDefault();
        const searchBox = document.querySelector<HTMLInputElement>("main [data-search]");
        if (searchBox) searchBox.focus();
        else navigate("/sessions");
      }
    };
    window.addEventListener("keydown", handleKey);
    return () => window.removeEventListener("keydown", handleKey);
  }, [openDialog]);
}
