import { useEffect, useRef, useState } from "react";
import { Icon } from "@/components/Icon";
import { LANGUAGES, useWords, type Language } from "@/i18n";
import { useTabs } from "@/plugins/tabs";
import { follow, usePlace } from "@/router";
import { applyTheme } from "@/theme";

export function Sidebar({ onPalette, onHelp }: { onPalette: () => void; onHelp: () => void }) {
  const { t, language, choose } = useWords();
  const path = usePlace();
  const tabs = useTabs();
  const [, redraw] = useState(0);
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }); // on a phone they may be wider than the screen
  }, [path, tabs]);
  const dark = document.documentElement.dataset["theme"] === "dark";
  const turn = () => {
    applyTheme(dark ? "light" : "dark");
    redraw((n) => n + 1);
  };
  return (
    <header className="sidebar">
      <a className="brand" href="/" onClick={follow}><img src="/assets/icon.svg" alt="" width="28" height="28" /> <span>Sojourn</span></a>
      <button className="palette-button" onClick={onPalette}><Icon name="search" size={16} /> <span>{t("palette.open")}</span> <kbd>Ctrl K</kbd></button>
      <nav ref={nav} aria-label={t("nav.label")}>
        {tabs.map((page) => (
          <a key={page.path} href={page.path} onClick={follow} aria-current={path === page.path || path.startsWith(`${page.path}/`) || path.startsWith(`${page.path}?`) ? "page" : undefined}>
            <Icon name={page.icon} /> <span>{page.label}</span>
          </a>
        ))}
      </nav>
      <div className="sidebar-foot">
        <button className="ghost" onClick={turn} aria-label={dark ? t("theme.light") : t("theme.dark")} title={dark ? t("theme.light") : t("theme.dark")}><Icon name={dark ? "sun" : "moon"} size={18} /></button>
        <button className="ghost" onClick={onHelp} aria-label={t("help.title")} title={t("help.title")}><Icon name="help" size={18} /></button>
        <select aria-label={t("language.label")} value={language} onChange={(event) => choose(event.target.value as Language)}>
          {Object.entries(LANGUAGES).map(([code, name]) => <option key={code} value={code}>{name}</option>)}
        </select>
      </div>
    </header>
  );
}
