import { useEffect, useSyncExternalStore } from "react";
import { Icon } from "@/components/Icon";
import { useI18n } from "@/i18n";
import css from "./Toasts.module.css";

interface Toast {
  id: number;
  text: string;
  undo: (() => void) | null;
}

const SHOWN_MS = 8000;
let toasts: Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function change(next: Toast[]): void {
  toasts = next;
  for (const notify of listeners) notify();
}

/** Confirms what was done, for some seconds, with a button that undoes it. */
export function showToast(text: string, undo: (() => void) | null = null): void {
  change([...toasts.slice(-2), { id: nextId++, text, undo }]);
}

const remove = (id: number) => change(toasts.filter((toast) => toast.id !== id));

function subscribe(notify: () => void): () => void {
  listeners.add(notify);
  return () => listeners.delete(notify);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className={css.toasts} role="status">
      {shown.map((toast) => (
        <ToastCard key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

function ToastCard({ toast }: { toast: Toast }) {
  const { t } = useI18n();
  useEffect(() => {
    const timer = setTimeout(() => remove(toast.id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [toast.id]);
  const undo = () => {
    remove(toast.id);
    toast.undo?.();
  };
  return (
    <div className={css.toastCard}>
      <span>{toast.text}</span>
      {toast.undo && (
        <button className={css.undo} onClick={undo}>
          {t("action.undo")}
        </button>
      )}
      <button className={css.dismiss} onClick={() => remove(toast.id)} aria-label={t("action.close")}>
        <Icon name="close" size={16} />
      </button>
    </div>
  );
}
