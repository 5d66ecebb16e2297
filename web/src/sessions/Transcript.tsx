import { useEffect, useMemo, useState } from "react";
import { ApiError, isAbortError } from "@/api/http";
import type { Message, Session } from "@/api/types";
import { buildView, type TurnView } from "@/chat/chatView";
import { conversationApi, type Observation } from "@/chat/conversationApi";
import { TurnCard } from "@/chat/TurnCard";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { formatDateTime, formatNumber } from "@/i18n";
import { followLink, useLocation } from "@/router";
import { useMessages } from "@/sessions/messages";
import { SessionActions } from "@/sessions/SessionActions";
import css from "./sessions.module.css";

const PAGE_TURNS = 80; // turns shown at once

/** A stored session to read: title and actions, its turns, and what runtimes recorded. `?at=SEQ` scrolls to a message. */
export function Transcript({ id, onChange }: { id: string; onChange: (session: Session | null, id: string) => void }) {
  const { t, language } = useMessages();
  const [session, setSession] = useState<Session | null>(null);
  const [messages, setMessages] = useState<Message[] | null>(null);
  const [observations, setObservations] = useState<Observation[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [firstShown, setFirstShown] = useState(0);
  const targetSeq = Number(new URLSearchParams(useLocation().split("?")[1] ?? "").get("at") ?? 0);

  useEffect(() => {
    const controller = new AbortController();
    setSession(null);
    setMessages(null);
    setError(null);
    Promise.all([
      conversationApi.getSession(id, controller.signal),
      conversationApi.listMessages(id, controller.signal),
      conversationApi.listObservations(id, controller.signal),
    ]).then(
      ([session, messages, observations]) => {
        setSession(session);
        setMessages(messages);
        setObservations(observations);
      },
      (problem: unknown) => {
        if (!isAbortError(problem)) setError(problem);
      },
    );
    return () => controller.abort();
  }, [id]);

  const turns = useMemo(() => (messages ? buildView(messages).turns : []), [messages]);
  const targetTurn = useMemo(
    () => (targetSeq && messages ? findTurn(turns, messages, targetSeq) : -1),
    [targetSeq, messages, turns],
  );
  useEffect(() => {
    if (targetTurn < 0) return;
    setFirstShown(Math.max(0, targetTurn - 5));
    setTimeout(
      () =>
        document
          .querySelector(`[data-turn="${CSS.escape(turns[targetTurn]!.key)}"]`)
          ?.scrollIntoView({ block: "start" }),
      60,
    );
  }, [targetTurn, turns]);

  if (error)
    return (
      <div className={css.transcript}>
        {error instanceof ApiError && error.status === 404 ? (
          <p className="empty-state">{t("sessions.notfound")}</p>
        ) : (
          <ErrorMessage error={error} />
        )}
      </div>
    );
  if (!session || !messages)
    return (
      <div className={css.transcript}>
        <p className="dim" role="status">
          {t("loading")}
        </p>
      </div>
    );
  const shown = turns.slice(firstShown, firstShown + PAGE_TURNS);
  return (
    <div className={css.transcript}>
      <header className={css.transcriptHeader}>
        <a className={`ghost ${css.backLink}`} href="/sessions" onClick={followLink} aria-label={t("action.back")}>
          ←
        </a>
        <SessionActions
          session={session}
          onChange={(updated) => {
            if (updated) setSession(updated);
            onChange(updated, id);
          }}
        />
        <p className="dim">
          <span className="pill">{session.source}</span>{" "}
          {session.model && <span className="pill">{session.model}</span>}{" "}
          {formatDateTime(session.started_at, language)} ·{" "}
          {t("sessions.messages", { n: formatNumber(session.message_count, language) })}
          {session.tags.map((tag) => (
            <span key={tag} className="pill">
              #{tag}
            </span>
          ))}
        </p>
        <ToolCallSelect
          turns={turns}
          jumpTo={(index) => {
            setFirstShown(Math.max(0, index - 2));
            setTimeout(
              () =>
                document.querySelector<HTMLElement>(`[data-turn="${CSS.escape(turns[index]!.key)}"]`)?.scrollIntoView(),
              60,
            );
          }}
        />
      </header>
      <div className={css.transcriptBody} tabIndex={0} role="region" aria-label={session.title ?? id}>
        {firstShown > 0 && (
          <button className="button" onClick={() => setFirstShown(Math.max(0, firstShown - PAGE_TURNS))}>
            {t("chat.earlier")}
          </button>
        )}
        {shown.map((turn) => (
          <TurnCard key={turn.key} turn={turn} session={id} isLive={false} />
        ))}
        {firstShown + PAGE_TURNS < turns.length && (
          <button className="button" onClick={() => setFirstShown(firstShown + PAGE_TURNS)}>
            {t("action.more")}
          </button>
        )}
        {!turns.length && <p className="empty-state">{t("sessions.empty")}</p>}
        {observations.map((observation, index) => (
          <ObservationDetails key={`${observation.turn}-${index}`} observation={observation} />
        ))}
        <p>
          <a className="button primary" href={`/chat/${encodeURIComponent(id)}`} onClick={followLink}>
            <Icon name="chat" size={16} /> {t("sessions.continue")}
          </a>
        </p>
      </div>
    </div>
  );
}

function ObservationDetails({ observation }: { observation: Observation }) {
  const { t } = useMessages();
  return (
    <details>
      <summary>
        <span className="pill">{observation.runtime}</span> {t("sessions.observation", { kind: observation.kind })}
      </summary>
      <pre>{JSON.stringify(observation.data, null, 1)}</pre>
    </details>
  );
}

/** The index of the turn a message belongs to: by turn id, else the last turn whose request is not after it. */
function findTurn(turns: TurnView[], messages: Message[], seq: number): number {
  const id = messages.find((message) => message.seq === seq)?.turn_id;
  const byId = id ? turns.findIndex((turn) => turn.key === id) : -1;
  return byId >= 0 ? byId : turns.findLastIndex((turn) => (turn.userMessage?.seq ?? 0) <= seq);
}

function ToolCallSelect({ turns, jumpTo }: { turns: TurnView[]; jumpTo: (index: number) => void }) {
  const { t } = useMessages();
  const turnsByTool = useMemo(() => {
    const indexes = new Map<string, number[]>();
    for (const [index, turn] of turns.entries())
      for (const part of turn.parts)
        if (part.kind === "tool") indexes.set(part.name, [...(indexes.get(part.name) ?? []), index]);
    return [...indexes];
  }, [turns]);
  if (!turnsByTool.length) return null;
  return (
    <select aria-label={t("sessions.jump")} value="" onChange={(event) => jumpTo(Number(event.target.value))}>
      <option value="">{t("sessions.jump")}</option>
      {turnsByTool.map(([name, indexes]) => (
        <optgroup key={name} label={`${name} (${indexes.length})`}>
          {indexes.slice(0, 50).map((index, n) => (
            <option key={`${index}-${n}`} value={index}>
              {name} · {n + 1}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}
