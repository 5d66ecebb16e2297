import { useEffect, useState } from "react";
import { getJson, isAbortError } from "@/api/http";
import type { Session } from "@/api/types";
import { ErrorMessage } from "@/components/ErrorMessage";
import { formatNumber } from "@/i18n";
import { useMessages } from "@/memory/messages";
import { followLink } from "@/router";
import { useSentences } from "@/serverTexts/serverTexts";
import { getSessionUrl } from "@/sessions/sessionLinks";

interface ContextBlock {
  kind?: string;
  title?: string;
  source?: string;
  origin?: string;
  reason?: string;
  tokens?: number;
}
interface TurnContext {
  turn: string;
  pieces: ContextBlock[];
  left_out: string[];
}

/** The context blocks that each turn of a session received, and the reason for each. */
export function RecallReasons() {
  const { t } = useMessages();
  const [sessions, setSessions] = useState<Session[] | null>(null);
  const [sessionId, setSessionId] = useState("");
  const [contexts, setContexts] = useState<TurnContext[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const controller = new AbortController();
    getJson<{ sessions: Session[] }>("/api/sessions?limit=100", controller.signal).then(
      (response) => {
        setSessions(response.sessions);
        setSessionId((before) => before || (response.sessions[0]?.id ?? ""));
      },
      (problem: unknown) => {
        if (!isAbortError(problem)) setError(problem);
      },
    );
    return () => controller.abort();
  }, []);
  useEffect(() => {
    if (!sessionId) return;
    const controller = new AbortController();
    setContexts(null);
    getJson<TurnContext[]>(`/api/plugins/memory/used/${encodeURIComponent(sessionId)}`, controller.signal).then(
      (loaded) => {
        setContexts(loaded);
        setError(null);
      },
      (problem: unknown) => {
        if (!isAbortError(problem)) setError(problem);
      },
    );
    return () => controller.abort();
  }, [sessionId]);
  const shownContexts = contexts
    ?.map((context, index) => ({ ...context, n: index + 1 }))
    .filter((context) => context.pieces.length || context.left_out.length);
  return (
    <section className="card" aria-label={t("memory.recall")}>
      <h2>{t("memory.recall")}</h2>
      <p className="dim">{t("memory.recall.about")}</p>
      {sessions?.length === 0 && <p className="empty-state">{t("memory.recall.nosession")}</p>}
      {Boolean(sessions?.length) && (
        <label>
          {t("memory.session")}{" "}
          <select value={sessionId} onChange={(event) => setSessionId(event.target.value)}>
            {sessions!.map((session) => (
              <option key={session.id} value={session.id}>
                {(session.title ?? (session.preview || session.id)).slice(0, 80)}
              </option>
            ))}
          </select>{" "}
          <a href={`/chat/${encodeURIComponent(sessionId)}`} onClick={followLink}>
            {t("memory.open")}
          </a>
        </label>
      )}
      <ErrorMessage error={error} />
      {shownContexts?.length === 0 && <p className="dim">{t("memory.recall.none")}</p>}
      {shownContexts?.toReversed().map((context) => (
        <TurnContextList key={context.turn} context={context} />
      ))}
    </section>
  );
}

/** Where a piece came from; a session is a link to it. */
function Origin({ text }: { text: string }) {
  const session = /^session ([\w-]+)/.exec(text)?.[1];
  if (!session) return <>{text}</>;
  return (
    <a href={getSessionUrl(session)} onClick={followLink}>
      {text}
    </a>
  );
}

function TurnContextList({ context }: { context: TurnContext & { n: number } }) {
  const { t, language } = useMessages();
  const translate = useSentences();
  return (
    <div className="turn-context" data-turn-context={context.turn}>
      <h3>{t("memory.turn", { n: context.n })}</h3>
      <ul>
        {context.pieces.map((block, index) => (
          <li key={index}>
            <strong>{translate(block.title ?? "")}</strong> <span className="pill">{block.kind}</span>{" "}
            {typeof block.tokens === "number" && (
              <span className="dim">{t("templates.tokens", { n: formatNumber(block.tokens, language) })}</span>
            )}
            <br />
            <span>{translate(block.reason ?? "")}</span>{" "}
            {(block.origin || block.source) && (
              <span className="dim">
                {t("memory.from")} <Origin text={block.origin ?? block.source ?? ""} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {context.left_out.length > 0 && (
        <p className="dim">{t("memory.leftout", { what: context.left_out.join(", ") })}</p>
      )}
    </div>
  );
}
