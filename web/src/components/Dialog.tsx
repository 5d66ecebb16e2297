import { type ReactNode, useEffect, useRef } from "react";
import { Icon } from "@/components/Icon";

/** A modal <dialog>: the browser traps the focus; Escape and a click on the backdrop close it. */
export function Dialog({
  label,
  close,
  children,
  isWide = false,
  closeLabel = "Close",
}: {
  label: string;
  close: () => void;
  children: ReactNode;
  isWide?: boolean;
  closeLabel?: string;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null;
    ref.current?.showModal();
    ref.current?.querySelector<HTMLElement>("input, textarea")?.focus(); // else the close button would have it
    return () => {
      const focused = document.activeElement;
      if (!focused || focused === document.body) opener?.focus?.(); // unless the focus has moved on meanwhile
    };
  }, []);
  return (
    <dialog
      ref={ref}
      className={isWide ? "dialog wide" : "dialog"}
      aria-label={label}
      onClose={close}
      onClick={(event) => event.target === ref.current && close()}
    >
      <div className="dialog-body">
        <button type="button" className="ghost close" onClick={close} aria-label={closeLabel}>
          <Icon name="close" />
        </button>
        {children}
      </div>
    </dialog>
  );
}
