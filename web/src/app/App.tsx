import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { SIGNED_OUT_EVENT } from "@/api/http";
import { CommandPalette } from "@/app/CommandPalette";
import { ErrorBoundary } from "@/app/ErrorBoundary";
import { PhoneTabs } from "@/app/PhoneTabs";
import { Rail } from "@/app/Rail";
import { isCurrentTab, useTabs } from "@/app/tabs";
import { type OpenDialog, useShortcuts } from "@/app/useShortcuts";
import { NoticeBanner } from "@/approvals/NoticeBanner";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Toasts } from "@/components/Toasts";
import { useIsPhone } from "@/components/useIsPhone";
import { setPageTitle, usePageTitle } from "@/components/usePageTitle";
import { buildCommonTranslator, getLanguage, I18nContext, type Language } from "@/i18n";
import { AttentionWatcher } from "@/notifications/AttentionWatcher";
import { UnreachablePage } from "@/offline/UnreachablePage";
import { useServerReach } from "@/offline/useServerReach";
import { PluginsContext, usePluginList, usePlugins } from "@/plugins/pluginList";
import { useLocation } from "@/router";
import { ServerTextsContext } from "@/serverTexts/serverTexts";
import { useLoadedTexts } from "@/serverTexts/useLoadedTexts";
import { WelcomePage } from "@/welcome/WelcomePage";
import css from "./App.module.css";

const KeyboardHelp = lazy(() => import("@/app/KeyboardHelp").then((module) => ({ default: module.KeyboardHelp })));
const SignIn = lazy(() => import("@/app/SignIn").then((module) => ({ default: module.SignIn })));

export function App() {
  const [language, setLanguage] = useState<Language>(getLanguage);
  const [isSignedOut, setIsSignedOut] = useState(false);
  const [open, setOpen] = useState<OpenDialog>(null);
  const isPhone = useIsPhone();
  const storeLanguage = useCallback((chosen: Language) => {
    localStorage.setItem("sojourn.language", chosen);
    setLanguage(chosen);
  }, []);
  const i18n = useMemo(
    () => ({ t: buildCommonTranslator(language), language, setLanguage: storeLanguage }),
    [language, storeLanguage],
  );

  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  useEffect(() => {
    const handleSignedOut = () => setIsSignedOut(true);
    window.addEventListener(SIGNED_OUT_EVENT, handleSignedOut);
    return () => window.removeEventListener(SIGNED_OUT_EVENT, handleSignedOut);
  }, []);
  useShortcuts(setOpen);
  const isServerThere = useServerReach();
  const plugins = usePluginList();
  const serverTexts = useLoadedTexts(language);
  const openPalette = () => setOpen("palette");

  return (
    <I18nContext.Provider value={i18n}>
      <ServerTextsContext.Provider value={serverTexts}>
        <PluginsContext.Provider value={plugins}>
          {!isServerThere ? (
            <UnreachablePage />
          ) : isSignedOut ? (
            <Suspense>
              <SignIn />
            </Suspense>
          ) : (
            <div className={css.appShell}>
              <a className="skip-link" href="#main">
                {i18n.t("nav.skip")}
              </a>
              {isPhone ? (
                <PhoneTabs openPalette={openPalette} />
              ) : (
                <Rail openPalette={openPalette} openHelp={() => setOpen("help")} />
              )}
              <main id="main" className={css.main} tabIndex={-1}>
                <NoticeBanner />
                <CurrentPage />
              </main>
              <PageAnnouncer />
              <Toasts />
              <AttentionWatcher />
            </div>
          )}
          <Suspense>
            {open === "palette" && <CommandPalette close={() => setOpen(null)} openHelp={() => setOpen("help")} />}
            {open === "help" && <KeyboardHelp close={() => setOpen(null)} />}
          </Suspense>
        </PluginsContext.Provider>
      </ServerTextsContext.Provider>
    </I18nContext.Provider>
  );
}

function CurrentPage() {
  const path = useLocation().split("?")[0]!;
  const { pages, error, refresh } = usePlugins();
  const page = useTabs().find((tab) => isCurrentTab(tab, path));
  const label = page?.label ?? "";
  useEffect(() => setPageTitle(label), [label, path]);
  if (!page && path !== "/" && !pages)
    return (
      <div className="page" aria-busy={!error}>
        <ErrorMessage error={error} retry={refresh} />
      </div>
    );
  if (!page) return <WelcomePage />;
  const rest = decodeURIComponent(path.slice(page.path.length + 1));
  return (
    <ErrorBoundary key={page.path}>
      <Suspense fallback={<div className="page" aria-busy="true" />}>
        <page.component rest={rest} />
      </Suspense>
    </ErrorBoundary>
  );
}

/** Says the name of a page that was opened, for those who do not see it. */
function PageAnnouncer() {
  const title = usePageTitle();
  return (
    <p className="visually-hidden" role="status">
      {title}
    </p>
  );
}
