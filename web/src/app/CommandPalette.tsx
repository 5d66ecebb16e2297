import { type KeyboardEvent, useMemo, useState } from "react";
import { useMessages } from "@/app/messages";
import { type Choice, useFoundMessages, useFoundSessions } from "@/app/paletteSearch";
import { useTabs } from "@/app/tabs";
import { Dialog } from "@/components/Dialog";
import { Icon } from "@/components/Icon";
import { navigate } from "@/router";
import { applyTheme } from "@/theme";
import css from "./CommandPalette.module.css";

/** Ctrl+K: runs an action, opens a page, or finds a session by its title or its words. */
export function CommandPalette({ close, openHelp }: { close: () => void; openHelp: () => void }) {
  const { t } = useMessages();
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const words = text.trim();
  const sessions = useFoundSessions(words);
  const messages = useFoundMessages(words);
  const actions = useActions(openHelp);
  const tabs = useTabs();
  const groups = useMemo(() => {
    const matches = (choice: Choice) => choice.label.toLowerCase().includes(words.toLowerCase());
    const pages = tabs.map<Choice>((tab) => ({ id: tab.path, icon: tab.icon, label: tab.label, to: tab.path }));
    const search: Choice = {
      id: "search",
      icon: "search",
      label: t("palette.search", { words }),
      to: `/sessions?q=${encodeURIComponent(words)}`,
    };
    return [
      { label: t("palette.group.pages"), choices: pages.filter(matches) },
      { label: t("palette.group.actions"), choices: actions.filter(matches) },
      { label: t("palette.group.sessions"), choices: sessions },
      { label: t("palette.group.messages"), choices: words ? [...messages, search] : [] },
    ].filter((group) => group.choices.length > 0);
  }, [words, sessions, messages, tabs, actions, t]);
  const choices = groups.flatMap((group) => group.choices);
  const current = Math.min(selected, choices.length - 1);

  const open = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    if (choice.run) choice.run();
    else navigate(choice.to!);
  };
  const handleKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setSelected(Math.min(current + 1, choices.length - 1));
    else if (event.key === "ArrowUp") setSelected(Math.max(current - 1, 0));
    else if (event.key === "Enter") open(choices[current]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label={t("palette.title")} close={close} closeLabel={t("action.close")}>
      <input
        autoFocus
        className={css.paletteInput}
        placeholder={t("palette.hint")}
        aria-label={t("palette.hint")}
        value={text}
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={choices[current] ? `choice-${current}` : undefined}
        onKeyDown={handleKey}
        onChange={(event) => {
          setText(event.target.value);
          setSelected(0);
        }}
      />
      <div id="palette-list" className={css.paletteList} role="listbox" aria-label={t("palette.title")}>
        {groups.map((group) => (
          <div key={group.label} role="group" aria-label={group.label}>
            <p className={css.groupLabel} aria-hidden="true">
              {group.label}
            </p>
            {group.choices.map((choice) => {
              const index = choices.indexOf(choice);
              return (
                <div
                  key={choice.id}
                  id={`choice-${index}`}
                  className={css.choice}
                  role="option"
                  tabIndex={-1}
                  aria-selected={index === current}
                  onMouseDown={() => open(choice)}
                  onMouseMove={() => setSelected(index)}
                >
                  <Icon name={choice.icon} size={16} /> <span className={css.choiceLabel}>{choice.label}</span>
                  <span className="dim">{choice.hint}</span>
                </div>
              );
            })}
          </div>
        ))}
      </div>
    </Dialog>
  );
}

function useActions(openHelp: () => void): Choice[] {
  const { t, language, setLanguage } = useMessages();
  return useMemo(() => {
    const isDark = document.documentElement.dataset["theme"] === "dark";
    return [
      { id: "new", icon: "plus", label: t("action.newchat"), hint: "n", to: "/chat/new" },
      {
        id: "theme",
        icon: isDark ? "sun" : "moon",
        label: isDark ? t("theme.light") : t("theme.dark"),
        run: () => applyTheme(isDark ? "light" : "dark"),
      },
      {
        id: "language",
        icon: "globe",
        label: language === "en" ? "中文" : "English",
        run: () => setLanguage(language === "en" ? "zh" : "en"),
      },
      { id: "help", icon: "help", label: t("help.title"), hint: "?", run: openHelp },
    ];
  }, [t, language, setLanguage, openHelp]);
}
