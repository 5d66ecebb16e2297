import { useState } from "react";
import { sendJson } from "@/api/http";
import type { Session } from "@/api/types";
import { ErrorMessage } from "@/components/ErrorMessage";
import { useMessages } from "@/sessions/messages";
import { getSessionLabel } from "@/sessions/sessionLinks";
import css from "./SessionTitle.module.css";

/** The title; a click renames. What was typed stays until it is saved or given up. */
export function SessionTitle({ session, onChange }: { session: Session; onChange: (session: Session) => void }) {
  const { t } = useMessages();
  const [text, setText] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const close = () => {
    setText(null);
    setError(null);
  };
  const save = async () => {
    try {
      const url = `/api/sessions/${encodeURIComponent(session.id)}`;
      if (text!.trim()) onChange(await sendJson<Session>("PATCH", url, { title: text!.trim() }));
      close();
    } catch (problem) {
      setError(problem);
    }
  };
  if (text === null)
    return (
      <h1>
        <button className={css.titleButton} title={t("sessions.rename")} onClick={() => setText(session.title ?? "")}>
          {getSessionLabel(session)}
        </button>
      </h1>
    );
  return (
    <form
      className={css.titleForm}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <input
        autoFocus
        aria-label={t("sessions.rename")}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") close();
        }}
      />
      <button className="button primary">{t("action.save")}</button>
      <ErrorMessage error={error} />
    </form>
  );
}
