import { useEffect, useMemo, useState, type KeyboardEvent } from "react";
import { getJson, isAbortError } from "@/api/http";
import type { Session } from "@/api/types";
import { Dialog } from "@/components/Dialog";
import { Icon, type IconName } from "@/components/Icon";
import { useI18n } from "@/i18n";
import { useTabs } from "@/pages/tabs";
import { navigate } from "@/router";

interface Choice {
  id: string;
  icon: IconName;
  label: string;
  hint: string;
  to: string;
}

/** Ctrl+K: opens a page by its name or a session by its title. */
export function CommandPalette({ close }: { close: () => void }) {
  const { t } = useI18n();
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const sessions = useSessionsByTitle(text);
  const tabs = useTabs();
  const choices = useMemo<Choice[]>(() => {
    const pageChoices = tabs.map((tab) => ({ id: tab.path, icon: tab.icon, label: tab.label, hint: "", to: tab.path }));
    const needle = text.trim().toLowerCase();
    const sessionChoices = sessions.map((session) => ({ id: session.id, icon: "chat" as const, label: session.title ?? (session.preview || session.id), hint: session.source, to: `/sessions/${session.id}` }));
    return [...pageChoices.filter((choice) => choice.label.toLowerCase().includes(needle)), ...sessionChoices];
  }, [text, sessions, tabs]);

  const open = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    navigate(choice.to);
  };
  const handleKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setSelected((now) => Math.min(now + 1, choices.length - 1));
    else if (event.key === "ArrowUp") setSelected((now) => Math.max(now - 1, 0));
    else if (event.key === "Enter") open(choices[selected]);
    else return;
    event.preventDefault();
  };

  return (
    <Dialog label={t("palette.title")} close={close}>
      <input autoFocus className="palette-input" placeholder={t("palette.hint")} aria-label={t("palette.hint")} value={text} role="combobox" aria-expanded="true" aria-controls="palette-list"
        aria-activedescendant={choices[selected] ? `choice-${selected}` : undefined} onKeyDown={handleKey} onChange={(event) => { setText(event.target.value); setSelected(0); }} />
      <ul id="palette-list" className="palette-list" role="listbox" aria-label={t("palette.title")}>
        {choices.map((choice, index) => (
          <li key={choice.id} id={`choice-${index}`} role="option" aria-selected={index === selected} onMouseDown={() => open(choice)} onMouseEnter={() => setSelected(index)}>
            <Icon name={choice.icon} size={16} /> <span>{choice.label}</span> <span className="dim">{choice.hint}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function useSessionsByTitle(text: string): Session[] {
  const [sessions, setSessions] = useState<Session[]>([]);
  useEffect(() => {
    if (!text.trim()) return setSessions([]);
    const controller = new AbortController();
    const timer = setTimeout(() => {
      getJson<{ sessions: Session[] }>(`/api/sessions?limit=8&text=${encodeURIComponent(text.trim())}`, controller.signal)
        .then((response) => setSessions(response.sessions))
        .catch((error) => { if (!isAbortError(error)) setSessions([]); });
    }, 120);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text]);
  return sessions;
}
