import { useCallback, useEffect, useState } from "react";
import { getJson, isAbortError, sendJson } from "@/api/http";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Markdown } from "@/components/Markdown";
import { showToast } from "@/components/Toasts";
import { useMessages } from "@/memory/messages";
import { SkillForm } from "@/memory/SkillForm";
import { useSentences } from "@/serverTexts/serverTexts";

interface Skill {
  name: string;
  description: string;
  path: string;
  problem: string;
  body?: string;
}
interface RankedSkill {
  name: string;
  description: string;
  score: number;
  reason: string;
}

const SKILLS_API = "/api/plugins/skills";

/** The installed skills, and a test of which of them a request selects. */
export function Skills() {
  const { t } = useMessages();
  const translate = useSentences();
  const [skills, setSkills] = useState<Skill[] | null>(null);
  const [open, setOpen] = useState<Skill | null>(null);
  const [request, setRequest] = useState("");
  const [ranked, setRanked] = useState<RankedSkill[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isEditing, setIsEditing] = useState(false);
  const load = useCallback(
    (signal?: AbortSignal) =>
      getJson<Skill[]>(`${SKILLS_API}/skills`, signal).then(setSkills, (problem: unknown) => {
        if (!isAbortError(problem)) setError(problem);
      }),
    [],
  );
  useEffect(() => {
    const controller = new AbortController();
    void load(controller.signal);
    return () => controller.abort();
  }, [load]);
  const reload = () => {
    setOpen(null);
    setIsEditing(false);
    void load();
  };
  const remove = (name: string) =>
    sendJson("DELETE", `${SKILLS_API}/skills/${encodeURIComponent(name)}`).then(() => {
      showToast(t("memory.skill.removed", { name }));
      reload();
    }, setError);
  const toggleSkill = (name: string) => {
    setIsEditing(false);
    if (open?.name === name) return setOpen(null);
    return getJson<Skill>(`${SKILLS_API}/skills/${encodeURIComponent(name)}`).then(setOpen, setError);
  };
  return (
    <section className="card">
      <h2>{t("memory.skills")}</h2>
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          if (request.trim())
            getJson<RankedSkill[]>(`${SKILLS_API}/why?request=${encodeURIComponent(request)}`).then(
              setRanked,
              setError,
            );
        }}
      >
        <input
          className="grow"
          placeholder={t("memory.request")}
          aria-label={t("memory.request")}
          value={request}
          onChange={(event) => setRequest(event.target.value)}
        />
        <button className="button" disabled={!request.trim()}>
          {t("memory.find")}
        </button>
      </form>
      <ErrorMessage error={error} />
      {ranked &&
        (ranked.length ? (
          <ol>
            {ranked.map((skill) => (
              <li key={skill.name}>
                <strong>{skill.name}</strong> <span className="pill">{skill.score.toFixed(2)}</span>{" "}
                <span className="dim">{translate(skill.reason)}</span>
              </li>
            ))}
          </ol>
        ) : (
          <p className="dim">{t("memory.nomatch")}</p>
        ))}
      {skills?.length === 0 && <p className="empty-state">{t("memory.noskills")}</p>}
      <ul className="link-list">
        {skills?.map((skill) => (
          <li key={skill.path}>
            <div className="row">
              <span className="grow">
                <strong>{skill.name}</strong> <span className="dim">{skill.description}</span>
                {skill.problem && <span className="problem-text"> {skill.problem}</span>}
              </span>
              {!skill.problem && (
                <button
                  className="button"
                  aria-expanded={open?.name === skill.name}
                  onClick={() => void toggleSkill(skill.name)}
                >
                  {t("memory.view")}
                </button>
              )}
            </div>
            {open?.name === skill.name && (
              <div className="card">
                {isEditing ? (
                  <SkillForm
                    skill={{ name: open.name, description: open.description, body: open.body ?? "" }}
                    onSave={reload}
                    cancel={() => setIsEditing(false)}
                  />
                ) : (
                  <>
                    <Markdown text={open.body ?? ""} />
                    <div className="row">
                      <button className="button" onClick={() => setIsEditing(true)}>
                        {t("action.edit")}
                      </button>
                      <button className="button danger" onClick={() => void remove(open.name)}>
                        {t("action.remove")}
                      </button>
                    </div>
                  </>
                )}
              </div>
            )}
          </li>
        ))}
      </ul>
      <details>
        <summary>{t("memory.skill.add")}</summary>
        <SkillForm onSave={reload} />
      </details>
    </section>
  );
}
