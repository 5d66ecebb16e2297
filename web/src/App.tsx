import { Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { SIGNED_OUT } from "@/api/http";
import { Boundary } from "@/components/Boundary";
import { Help } from "@/components/Help";
import { Palette } from "@/components/Palette";
import { Sidebar } from "@/components/Sidebar";
import { Trouble } from "@/components/Trouble";
import { chosenLanguage, translator, Words, type Language } from "@/i18n";
import { SignIn } from "@/pages/SignIn";
import { Welcome } from "@/pages/Welcome";
import { Plugins, useListing, usePlugins } from "@/plugins/listing";
import { useTabs } from "@/plugins/tabs";
import { go, usePlace } from "@/router";

export function App() {
  const [language, setLanguage] = useState<Language>(chosenLanguage);
  const [signedOut, setSignedOut] = useState(false);
  const [open, setOpen] = useState<"palette" | "help" | null>(null);
  const choose = useCallback((chosen: Language) => {
    localStorage.setItem("sojourn.language", chosen);
    setLanguage(chosen);
  }, []);
  const words = useMemo(() => ({ t: translator(language), language, choose }), [language, choose]);

  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  useEffect(() => {
    const out = () => setSignedOut(true);
    window.addEventListener(SIGNED_OUT, out);
    return () => window.removeEventListener(SIGNED_OUT, out);
  }, []);
  useKeys(setOpen);
  const plugins = useListing();

  return (
    <Words.Provider value={words}>
      <Plugins.Provider value={plugins}>
        {signedOut ? (
          <SignIn />
        ) : (
          <div className="shell">
            <a className="skip" href="#main">{words.t("nav.skip")}</a>
            <Sidebar onPalette={() => setOpen("palette")} onHelp={() => setOpen("help")} />
            <main id="main" tabIndex={-1}>
              <Current />
            </main>
          </div>
        )}
        {open === "palette" && <Palette close={() => setOpen(null)} />}
        {open === "help" && <Help close={() => setOpen(null)} />}
      </Plugins.Provider>
    </Words.Provider>
  );
}

function Current() {
  const path = usePlace().split("?")[0]!;
  const { pages, error, refresh } = usePlugins();
  const page = useTabs().find((one) => path === one.path || path.startsWith(`${one.path}/`));
  if (!page && path !== "/" && !pages) return <div className="page" aria-busy={!error}><Trouble error={error} retry={refresh} /></div>;
  if (!page) return <Welcome />;
  const rest = decodeURIComponent(path.slice(page.path.length + 1));
  return (
    <Boundary key={page.path} what={page.path}>
      <Suspense fallback={<div className="page" aria-busy="true" />}>
        <page.component rest={rest} />
      </Suspense>
    </Boundary>
  );
}

/** Ctrl+K opens the palette, `?` the help, `/` goes to the search of the page, or to the sessions. */
function useKeys(show: (what: "palette" | "help" | null) => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        show("palette");
        return;
      }
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog[open], [contenteditable]")) return;
      if (event.key === "?") show("help");
      else if (event.key === "/") {
        event.preventDefault();
        const box = document.querySelector<HTMLInputElement>("main [data-search]");
        if (box) box.focus();
        else go("/sessions");
      }
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, [show]);
}
