import { useState } from "react";
import { sendJson } from "@/api/http";
import { ErrorMessage } from "@/components/ErrorMessage";
import { showToast } from "@/components/Toasts";
import { useMessages } from "@/memory/messages";
import css from "./SkillForm.module.css";

export interface SkillDraft {
  name: string;
  description: string;
  body: string;
}

interface Props {
  skill?: SkillDraft;
  onSave: () => void;
  cancel?: () => void;
}

/** A skill of one's own: its name, what it is for and how it is done. */
export function SkillForm({ skill, onSave, cancel }: Props) {
  const { t } = useMessages();
  const [draft, setDraft] = useState<SkillDraft>(skill ?? { name: "", description: "", body: "" });
  const [error, setError] = useState<unknown>(null);
  const save = () => {
    setError(null);
    const { description, body } = draft;
    sendJson("PUT", `/api/plugins/skills/skills/${encodeURIComponent(draft.name.trim())}`, { description, body }).then(
      () => {
        showToast(t("memory.skill.saved", { name: draft.name }));
        setDraft({ name: "", description: "", body: "" });
        onSave();
      },
      setError,
    );
  };
  const change = (field: keyof SkillDraft) => (event: { target: { value: string } }) =>
    setDraft({ ...draft, [field]: event.target.value });
  return (
    <form
      className={css.skillForm}
      onKeyDown={(event) => event.key === "Escape" && cancel?.()}
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      {!skill && (
        <label>
          {t("memory.skill.name")}
          <input className="mono" placeholder="release-notes" value={draft.name} onChange={change("name")} />
        </label>
      )}
      <label>
        {t("memory.skill.description")}
        <input autoFocus={Boolean(skill)} value={draft.description} onChange={change("description")} />
      </label>
      <label>
        {t("memory.skill.body")}
        <textarea className="mono" rows={8} value={draft.body} onChange={change("body")} />
      </label>
      <ErrorMessage error={error} />
      <div className="row">
        <button
          className="button primary"
          disabled={!draft.name.trim() || !draft.description.trim() || !draft.body.trim()}
        >
          {t("action.save")}
        </button>
        {cancel && (
          <button type="button" className="button" onClick={cancel}>
            {t("action.cancel")}
          </button>
        )}
      </div>
    </form>
  );
}
