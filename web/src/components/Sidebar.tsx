import { useEffect, useRef, useState } from "react";
import { Icon } from "@/components/Icon";
import { LANGUAGES, useI18n, type Language } from "@/i18n";
import { useTabs } from "@/pages/tabs";
import { followLink, useLocation } from "@/router";
import { applyTheme } from "@/theme";

export function Sidebar({ openPalette, openHelp }: { openPalette: () => void; openHelp: () => void }) {
  const { t, language, setLanguage } = useI18n();
  const path = useLocation();
  const tabs = useTabs();
  const [, redraw] = useState(0);
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }); // on a phone the tabs may be wider than the screen
  }, [path, tabs]);
  const isDark = document.documentElement.dataset["theme"] === "dark";
  const toggleTheme = () => {
    applyTheme(isDark ? "light" : "dark");
    redraw((n) => n + 1);
  };
  return (
    <header className="sidebar">
      <a className="brand" href="/" onClick={followLink}><img src="/assets/icon.svg" alt="" width="28" height="28" /> <span>Sojourn</span></a>
      <button className="palette-button" onClick={openPalette}><Icon name="search" size={16} /> <span>{t("palette.open")}</span> <kbd>Ctrl K</kbd></button>
      <nav ref={nav} aria-label={t("nav.label")}>
        {tabs.map((tab) => (
          <a key={tab.path} href={tab.path} onClick={followLink} aria-current={path === tab.path || path.startsWith(`${tab.path}/`) || path.startsWith(`${tab.path}?`) ? "page" : undefined}>
            <Icon name={tab.icon} /> <span>{tab.label}</span>
          </a>
        ))}
      </nav>
      <div className="sidebar-footer">
        <button className="ghost" onClick={toggleTheme} aria-label={isDark ? t("theme.light") : t("theme.dark")} title={isDark ? t("theme.light") : t("theme.dark")}><Icon name={isDark ? "sun" : "moon"} size={18} /></button>
        <button className="ghost" onClick={openHelp} aria-label={t("help.title")} title={t("help.title")}><Icon name="help" size={18} /></button>
        <select aria-label={t("language.label")} value={language} onChange={(event) => setLanguage(event.target.value as Language)}>
          {Object.entries(LANGUAGES).map(([code, name]) => <option key={code} value={code}>{name}</option>)}
        </select>
      </div>
    </header>
  );
}
