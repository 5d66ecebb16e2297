import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { getJson, sendJson } from "@/api/http";
import { queryClient } from "@/api/query";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { showToast } from "@/components/Toasts";
import { useMessages } from "@/memory/messages";
import { followLink } from "@/router";
import css from "./SkillForm.module.css";

interface Prompt {
  name: string;
  description: string;
  arguments: string;
  text: string;
  problem: string;
}

const PROMPTS_API = "/api/plugins/dashboard/prompts";
const NO_PROMPT: Prompt = { name: "", description: "", arguments: "", text: "", problem: "" };

/** The library of prompts: each is said in a chat as `/name`, here and in the terminal. */
export function Prompts() {
  const { t } = useMessages();
  const { data, error, refetch } = useQuery(
    { queryKey: ["prompts"], queryFn: ({ signal }) => getJson<Prompt[]>(PROMPTS_API, signal) },
    queryClient,
  );
  const [edited, setEdited] = useState<string | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const save = async ({ name, description, text, arguments: words }: Prompt) => {
    await sendJson("PUT", `${PROMPTS_API}/${encodeURIComponent(name.trim())}`, { description, text, arguments: words });
    setEdited(null);
    showToast(t("prompts.saved", { name }));
    await refetch();
  };
  const remove = (prompt: Prompt) => {
    const undo = () => void save(prompt).catch(setFailure);
    sendJson("DELETE", `${PROMPTS_API}/${prompt.name}`).then(() => {
      showToast(t("prompts.removed", { name: prompt.name }), undo);
      return refetch();
    }, setFailure);
  };
  return (
    <section className="card" aria-label={t("prompts.title")}>
      <h2>{t("prompts.title")}</h2>
      <p className="dim">{t("prompts.about")}</p>
      <ErrorMessage error={error ?? failure} />
      <ul className="link-list">
        {data?.map((prompt) => (
          <li key={prompt.name}>
            {edited === prompt.name ? (
              <PromptForm prompt={prompt} save={save} cancel={() => setEdited(null)} />
            ) : (
              <div className="row">
                <span className="grow">
                  <code>/{prompt.name}</code> <span className="dim">{prompt.description}</span>
                  {prompt.problem && <span className="problem-text"> {prompt.problem}</span>}
                </span>
                {!prompt.problem && (
                  <>
                    <a
                      className="button"
                      href={`/chat/new?say=${encodeURIComponent(`/${prompt.name} `)}`}
                      onClick={followLink}
                    >
                      {t("prompts.use")}
                    </a>
                    <button
                      className="ghost"
                      aria-label={t("prompts.edit", { name: prompt.name })}
                      onClick={() => setEdited(prompt.name)}
                    >
                      <Icon name="pencil" size={16} />
                    </button>
                    <button
                      className="ghost"
                      aria-label={t("prompts.remove", { name: prompt.name })}
                      onClick={() => remove(prompt)}
                    >
                      <Icon name="trash" size={16} />
                    </button>
                  </>
                )}
              </div>
            )}
          </li>
        ))}
      </ul>
      <details>
        <summary>{t("prompts.add")}</summary>
        <PromptForm save={save} />
      </details>
    </section>
  );
}

interface FormProps {
  prompt?: Prompt;
  save: (prompt: Prompt) => Promise<void>;
  cancel?: () => void;
}

function PromptForm({ prompt, save, cancel }: FormProps) {
  const { t } = useMessages();
  const [draft, setDraft] = useState(prompt ?? NO_PROMPT);
  const [error, setError] = useState<unknown>(null);
  const change = (field: keyof Prompt) => (event: { target: { value: string } }) =>
    setDraft({ ...draft, [field]: event.target.value });
  return (
    <form
      className={css.skillForm}
      onKeyDown={(event) => event.key === "Escape" && cancel?.()}
      onSubmit={(event) => {
        event.preventDefault();
        setError(null);
        save(draft).then(() => setDraft(NO_PROMPT), setError);
      }}
    >
      {!prompt && (
        <label>
          {t("prompts.name")}
          <input className="mono" placeholder="review" value={draft.name} onChange={change("name")} />
        </label>
      )}
      <label>
        {t("prompts.description")}
        <input value={draft.description} onChange={change("description")} />
      </label>
      <label>
        {t("prompts.text")}
        <textarea autoFocus={Boolean(prompt)} rows={6} value={draft.text} onChange={change("text")} />
        <small className="dim">{t("prompts.text.hint")}</small>
      </label>
      <ErrorMessage error={error} />
      <div className="row">
        <button className="button primary" disabled={!draft.name.trim() || !draft.text.trim()}>
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
