import { useEffect, useState } from "react";
import { getJson, isAbortError } from "@/api/http";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Markdown } from "@/components/Markdown";
import { useMessages } from "@/memory/messages";
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
  useEffect(() => {
    const controller = new AbortController();
    getJson<Skill[]>(`${SKILLS_API}/skills`, controller.signal).then(setSkills, (problem: unknown) => {
      if (!isAbortError(problem)) setError(problem);
    });
    return () => controller.abort();
  }, []);
  const toggleSkill = (name: string) =>
    open?.name === name
      ? setOpen(null)
      : getJson<Skill>(`${SKILLS_API}/skills/${encodeURIComponent(name)}`).then(setOpen, setError);
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
                <Markdown text={open.body ?? ""} />
              </div>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
