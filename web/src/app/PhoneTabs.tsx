import { useEffect, useState } from "react";
import { useMessages } from "@/app/messages";
import { LanguageSelect, TabLink, ThemeButton } from "@/app/Rail";
import { isCurrentTab, useTabs } from "@/app/tabs";
import { Dialog } from "@/components/Dialog";
import { Icon } from "@/components/Icon";
import { useLocation } from "@/router";
import css from "./PhoneTabs.module.css";

const FIRST_TABS = 3; // the others are behind "More"

/** The navigation of a phone: labelled tabs at the bottom, within reach of a thumb. */
export function PhoneTabs({ openPalette }: { openPalette: () => void }) {
  const { t } = useMessages();
  const path = useLocation();
  const tabs = useTabs();
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => setIsOpen(false), [path]);
  const others = tabs.slice(FIRST_TABS);
  const current = others.find((tab) => isCurrentTab(tab, path));
  return (
    <header className={css.phoneTabs}>
      <nav aria-label={t("nav.label")}>
        {tabs.slice(0, FIRST_TABS).map((tab) => (
          <TabLink key={tab.path} tab={tab} isCurrent={isCurrentTab(tab, path)} />
        ))}
        <button
          className={css.more}
          onClick={() => setIsOpen(true)}
          aria-haspopup="dialog"
          aria-current={current ? "page" : undefined}
        >
          <Icon name={current?.icon ?? "more"} size={20} />
          <span>{current?.label ?? t("nav.more")}</span>
        </button>
      </nav>
      {isOpen && (
        <Dialog label={t("nav.more")} close={() => setIsOpen(false)} closeLabel={t("action.close")}>
          <h2>{t("nav.more")}</h2>
          <nav className={css.sheet} aria-label={t("nav.more")}>
            {others.map((tab) => (
              <TabLink key={tab.path} tab={tab} isCurrent={tab === current} />
            ))}
            <button
              className={css.more}
              onClick={() => {
                setIsOpen(false);
                openPalette();
              }}
            >
              <Icon name="search" size={20} />
              <span>{t("nav.search")}</span>
            </button>
          </nav>
          <div className="row">
            <ThemeButton />
            <LanguageSelect />
          </div>
        </Dialog>
      )}
    </header>
  );
}
