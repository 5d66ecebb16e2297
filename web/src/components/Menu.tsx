import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Icon, type IconName } from "@/components/Icon";
import css from "./Menu.module.css";

export interface MenuEntry {
  label: string;
  icon: IconName;
  run: () => void;
  isDanger?: boolean;
}

/** A button with a menu of actions. Escape, a click elsewhere and a choice close it; the arrows move in it. */
export function Menu({
  label,
  icon = "more",
  entries,
  children,
}: {
  label: string;
  icon?: IconName;
  entries: MenuEntry[];
  children?: ReactNode;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const [isAbove, setIsAbove] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => setIsAbove(isOpen && hasMoreRoomAbove(root.current!)), [isOpen]);
  useEffect(() => {
    if (!isOpen) return;
    root.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const handlePointer = (event: PointerEvent) => {
      if (!root.current?.contains(event.target as Node)) setIsOpen(false);
    };
    document.addEventListener("pointerdown", handlePointer);
    return () => document.removeEventListener("pointerdown", handlePointer);
  }, [isOpen]);
  const handleKey = (event: React.KeyboardEvent) => {
    if (event.key === "Escape") {
      setIsOpen(false);
      root.current?.querySelector("button")?.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const items = [...(root.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
      const at = items.indexOf(document.activeElement as HTMLElement) + (event.key === "ArrowDown" ? 1 : -1);
      items[(at + items.length) % items.length]?.focus();
    }
  };
  return (
    <div className={css.menu} ref={root} onKeyDown={handleKey}>
      <button
        className="ghost"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={label}
        title={label}
        onClick={() => setIsOpen(!isOpen)}
      >
        <Icon name={icon} size={18} />
        {children}
      </button>
      {isOpen && (
        <div className={`${css.menuList} ${isAbove ? css.above : ""}`} role="menu" aria-label={label}>
          {entries.map((entry) => (
            <button
              key={entry.label}
              role="menuitem"
              className={entry.isDanger ? css.menuDanger : undefined}
              onClick={() => {
                setIsOpen(false);
                entry.run();
              }}
            >
              <Icon name={entry.icon} size={16} /> {entry.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

const MARGIN_PX = 8;

/** Whether the open menu would be cut off below, and less above: by the window, or by what scrolls around it. */
function hasMoreRoomAbove(root: HTMLElement): boolean {
  let [top, bottom] = [0, window.innerHeight];
  for (let around = root.parentElement; around; around = around.parentElement) {
    if (!/auto|scroll|hidden/.test(getComputedStyle(around).overflowY)) continue;
    const box = around.getBoundingClientRect();
    [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
  }
  const { top: buttonTop, bottom: buttonBottom } = root.getBoundingClientRect();
  const height = root.querySelector("[role=menu]")!.getBoundingClientRect().height + MARGIN_PX;
  return buttonBottom + height > bottom && buttonTop - top > bottom - buttonBottom;
}
