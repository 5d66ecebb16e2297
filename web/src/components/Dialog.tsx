import { useEffect, useRef, type ReactNode } from "react";
import { Icon } from "@/components/Icon";

/** A real dialog: the browser keeps the focus inside, Escape closes, a click beside it too. */
export function Dialog({ label, close, children, wide = false, closeLabel = "Close" }: { label: string; close: () => void; children: ReactNode; wide?: boolean; closeLabel?: string }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current?.showModal();
    ref.current?.querySelector<HTMLElement>("input, textarea")?.focus(); // else the first button, which closes it
    return () => {
      const now = document.activeElement;
      if (!now || now === document.body) before?.focus?.(); // whoever went on elsewhere meanwhile is left there
    };
  }, []);
  return (
    <dialog ref={ref} className={wide ? "dialog wide" : "dialog"} aria-label={label} onClose={close} onClick={(event) => event.target === ref.current && close()}>
      <div className="dialog-body">
        <button className="ghost close" onClick={close} aria-label={closeLabel}><Icon name="close" /></button>
        {children}
      </div>
    </dialog>
  );
}
