import { useEffect, useState } from "react";
import type { ChatCommand } from "@/api/types";
import { useMessages } from "@/chat/messages";
import { useServerTexts } from "@/serverTexts/serverTexts";
import css from "./CommandMenu.module.css";

interface Props {
  text: string;
  commands: ChatCommand[];
  choose: (name: string) => void;
  box: React.RefObject<HTMLTextAreaElement | null>;
}

const withSlash = (name: string) => (name.startsWith("/") ? name : `/${name}`);

/** The commands that begin with what was typed after a slash; Tab or a click takes one. */
export function CommandMenu({ text, commands, choose, box }: Props) {
  const { t } = useMessages();
  const texts = useServerTexts();
  const [selected, setSelected] = useState(0);
  const isOpen = /^\/\S*$/.test(text);
  const found = isOpen ? commands.filter((command) => withSlash(command.name).startsWith(text.toLowerCase())) : [];
  useEffect(() => setSelected(0), [text]);
  useEffect(() => {
    const element = box.current;
    if (!found.length || !element) return;
    const handleKey = (event: KeyboardEvent) => {
      if (event.key === "ArrowDown") setSelected((now) => Math.min(now + 1, found.length - 1));
      else if (event.key === "ArrowUp") setSelected((now) => Math.max(now - 1, 0));
      else if (event.key === "Tab") choose(withSlash(found[selected]!.name));
      else return;
      event.preventDefault();
    };
    element.addEventListener("keydown", handleKey);
    return () => element.removeEventListener("keydown", handleKey);
  });
  if (!found.length) return null;
  return (
    <ul className={css.commandMenu} role="listbox" aria-label={t("chat.commands")}>
      {found.map((command, index) => (
        <li
          key={command.name}
          role="option"
          tabIndex={-1}
          aria-selected={index === selected}
          onMouseDown={(event) => {
            event.preventDefault();
            choose(withSlash(command.name));
          }}
        >
          <code>
            {withSlash(command.name)} {command.arguments}
          </code>
          <span className="dim">{texts?.commands[command.name.replace("/", "")] ?? command.help}</span>
        </li>
      ))}
    </ul>
  );
}
