import { useState } from "react";
import { useMessages } from "@/app/messages";
import { isCurrentTab, type Tab, useTabs } from "@/app/tabs";
import { getChatUrl } from "@/chat/lastChat";
import { Icon, type IconName } from "@/components/Icon";
import { useWaiting } from "@/components/usePageTitle";
import { LANGUAGES, type Language } from "@/i18n";
import { followLink, useLocation } from "@/router";
import { applyTheme } from "@/theme";
import css from "./Rail.module.css";

/** The navigation of a wide screen: every page as an icon with its name. */
export function Rail({ openPalette, openHelp }: { openPalette: () => void; openHelp: () => void }) {
  const { t } = useMessages();
  const path = useLocation();
  const tabs = useTabs();
  return (
    <header className={css.rail}>
      <a className={css.brand} href="/" onClick={followLink} aria-label={`Sojourn: ${t("home")}`}>
        <img src="/assets/icon.svg" alt="" width="32" height="32" />
      </a>
      <button className={css.railButton} onClick={openPalette} title={`${t("palette.open")} (Ctrl K)`}>
        <Icon name="search" size={20} />
        <span>{t("nav.search")}</span>
      </button>
      <nav aria-label={t("nav.label")}>
        {tabs.map((tab) => (
          <TabLink key={tab.path} tab={tab} isCurrent={isCurrentTab(tab, path)} />
        ))}
      </nav>
      <div className={css.railFooter}>
        <ThemeButton />
        <IconButton icon="help" label={t("help.title")} onClick={openHelp} />
        <LanguageSelect />
      </div>
    </header>
  );
}

export function TabLink({ tab, isCurrent }: { tab: Tab; isCurrent: boolean }) {
  const waiting = useWaiting();
  return (
    <a
      className={css.tab}
      href={tab.path === "/chat" && !isCurrent ? getChatUrl() : tab.path}
      onClick={followLink}
      aria-current={isCurrent ? "page" : undefined}
      title={tab.label}
    >
      <Icon name={tab.icon} size={20} />
      <span>{tab.label}</span>
      {tab.path === "/chat" && waiting > 0 && <span className={css.badge}>{waiting}</span>}
    </a>
  );
}

function IconButton({ icon, label, onClick }: { icon: IconName; label: string; onClick: () => void }) {
  return (
    <button className="ghost" onClick={onClick} aria-label={label} title={label}>
      <Icon name={icon} size={18} />
    </button>
  );
}

export function ThemeButton() {
  const { t } = useMessages();
  const [, redraw] = useState(0);
  const isDark = document.documentElement.dataset["theme"] === "dark";
  const toggle = () => {
    applyTheme(isDark ? "light" : "dark");
    redraw((n) => n + 1);
  };
  return (
    <IconButton icon={isDark ? "sun" : "moon"} label={isDark ? t("theme.light") : t("theme.dark")} onClick={toggle} />
  );
}

export function LanguageSelect() {
  const { t, language, setLanguage } = useMessages();
  return (
    <select
      className={css.language}
      aria-label={t("language.label")}
      value={language}
      onChange={(event) => setLanguage(event.target.value as Language)}
    >
      {Object.entries(LANGUAGES).map(([code, name]) => (
        <option key={code} value={code}>
          {name}
        </option>
      ))}
    </select>
  );
}
