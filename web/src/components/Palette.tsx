import { useEffect, useMemo, useState, type KeyboardEvent } from "react";
import { getJson, wasAborted } from "@/api/http";
import type { Session } from "@/api/types";
import { Dialog } from "@/components/Dialog";
import { Icon, type IconName } from "@/components/Icon";
import { useWords } from "@/i18n";
import { useTabs } from "@/plugins/tabs";
import { go } from "@/router";

interface Choice {
  id: string;
  icon: IconName;
  label: string;
  hint: string;
  to: string;
}

/** Type a few letters, press Enter. Pages first, then sessions by their title. */
export function Palette({ close }: { close: () => void }) {
  const { t } = useWords();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const sessions = useTitles(text);
  const tabs = useTabs();
  const choices = useMemo<Choice[]>(() => {
    const pages = tabs.map((page) => ({ id: page.path, icon: page.icon, label: page.label, hint: "", to: page.path }));
    const wanted = text.trim().toLowerCase();
    const found = sessions.map((one) => ({ id: one.id, icon: "chat" as const, label: one.title ?? (one.preview || one.id), hint: one.source, to: `/sessions/${one.id}` }));
    return [...pages.filter((one) => one.label.toLowerCase().includes(wanted)), ...found];
  }, [text, sessions, tabs]);

  const open = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    go(choice.to);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt((now) => Math.min(now + 1, choices.length - 1));
    else if (event.key === "ArrowUp") setAt((now) => Math.max(now - 1, 0));
    else if (event.key === "Enter") open(choices[at]);
    else return;
    event.preventDefault();
  };

  return (
    <Dialog label={t("palette.title")} close={close}>
      <input autoFocus className="palette-input" placeholder={t("palette.hint")} aria-label={t("palette.hint")} value={text} role="combobox" aria-expanded="true" aria-controls="palette-list"
        aria-activedescendant={choices[at] ? `choice-${at}` : undefined} onKeyDown={pressed} onChange={(event) => { setText(event.target.value); setAt(0); }} />
      <ul id="palette-list" className="palette-list" role="listbox" aria-label={t("palette.title")}>
        {choices.map((one, index) => (
          <li key={one.id} id={`choice-${index}`} role="option" aria-selected={index === at} onMouseDown={() => open(one)} onMouseEnter={() => setAt(index)}>
            <Icon name={one.icon} size={16} /> <span>{one.label}</span> <span className="dim">{one.hint}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function useTitles(text: string): Session[] {
  const [found, setFound] = useState<Session[]>([]);
  useEffect(() => {
    if (!text.trim()) return setFound([]);
    const asked = new AbortController();
    const timer = setTimeout(() => {
      getJson<{ sessions: Session[] }>(`/api/sessions?limit=8&text=${encodeURIComponent(text.trim())}`, asked.signal)
        .then((answer) => setFound(answer.sessions))
        .catch((error) => { if (!wasAborted(error)) setFound([]); });
    }, 120);
    return () => {
      clearTimeout(timer);
      asked.abort();
    };
  }, [text]);
  return found;
}
