import { useEffect, useMemo, useState } from "react";
import { ApiError, wasAborted } from "@/api/http";
import type { Message, Session } from "@/api/types";
import { conversationApi, type Observation } from "@/chat/conversationApi";
import { Turn } from "@/chat/Turn";
import { ofMessages, type TurnView } from "@/chat/view";
import { Icon } from "@/components/Icon";
import { Trouble } from "@/components/Trouble";
import { count, moment, useWords } from "@/i18n";
import { follow, usePlace } from "@/router";
import { Actions } from "@/sessions/Actions";

const SHOWN = 80; // turns drawn at once

export function Reader({ id, changed }: { id: string; changed: (session: Session | null, id: string) => void }) {
  const { t, language } = useWords();
  const [session, setSession] = useState<Session | null>(null);
  const [messages, setMessages] = useState<Message[] | null>(null);
  const [observations, setObservations] = useState<Observation[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [from, setFrom] = useState(0);
  const at = Number(new URLSearchParams(usePlace().split("?")[1] ?? "").get("at") ?? 0);

  useEffect(() => {
    const asked = new AbortController();
    setSession(null);
    setMessages(null);
    setError(null);
    Promise.all([conversationApi.session(id, asked.signal), conversationApi.messages(id, asked.signal), conversationApi.observations(id, asked.signal)]).then(
      ([found, rows, observed]) => { setSession(found); setMessages(rows); setObservations(observed); },
      (problem: unknown) => { if (!wasAborted(problem)) setError(problem); },
    );
    return () => asked.abort();
  }, [id]);

  const turns = useMemo(() => (messages ? ofMessages(messages).turns : []), [messages]);
  const wanted = useMemo(() => (at && messages ? turnAt(turns, messages, at) : -1), [at, messages, turns]);
  useEffect(() => {
    if (wanted < 0) return;
    setFrom(Math.max(0, wanted - 5));
    setTimeout(() => document.querySelector(`[data-turn="${CSS.escape(turns[wanted]!.key)}"]`)?.scrollIntoView({ block: "start" }), 60);
  }, [wanted, turns]);

  if (error) return <div className="reader">{error instanceof ApiError && error.status === 404 ? <p className="empty">{t("sessions.gone")}</p> : <Trouble error={error} />}</div>;
  if (!session || !messages) return <div className="reader"><p className="dim" role="status">{t("loading")}</p></div>;
  const shown = turns.slice(from, from + SHOWN);
  return (
    <div className="reader">
      <header className="reader-head">
        <a className="ghost back" href="/sessions" onClick={follow} aria-label={t("action.back")}>←</a>
        <Actions session={session} changed={(now) => { if (now) setSession(now); changed(now, id); }} />
        <p className="dim">
          <span className="pill">{session.source}</span> {session.model && <span className="pill">{session.model}</span>} {moment(session.started_at, language)} · {t("sessions.messages", { n: count(session.message_count, language) })}
          {session.tags.map((tag) => <span key={tag} className="pill">#{tag}</span>)}
        </p>
        <JumpToTool turns={turns} jump={(index) => { setFrom(Math.max(0, index - 2)); setTimeout(() => document.querySelector<HTMLElement>(`[data-turn="${CSS.escape(turns[index]!.key)}"]`)?.scrollIntoView(), 60); }} />
      </header>
      <div className="reader-body" tabIndex={0} role="region" aria-label={session.title ?? id}>
        {from > 0 && <button className="button" onClick={() => setFrom(Math.max(0, from - SHOWN))}>{t("chat.earlier")}</button>}
        {shown.map((turn) => <Turn key={turn.key} turn={turn} session={id} live={false} />)}
        {from + SHOWN < turns.length && <button className="button" onClick={() => setFrom(from + SHOWN)}>{t("action.more")}</button>}
        {!turns.length && <p className="empty">{t("sessions.silent")}</p>}
        {observations.map((one, index) => <ObservationDetails key={`${one.turn}-${index}`} observation={one} />)}
        <p><a className="button primary" href={`/chat/${encodeURIComponent(id)}`} onClick={follow}><Icon name="chat" size={16} /> {t("sessions.continue")}</a></p>
      </div>
    </div>
  );
}

function ObservationDetails({ observation }: { observation: Observation }) {
  const { t } = useWords();
  return (
    <details className="observation">
      <summary><span className="pill">{observation.runtime}</span> {t("sessions.observation", { kind: observation.kind })}</summary>
      <pre>{JSON.stringify(observation.data, null, 1)}</pre>
    </details>
  );
}

/** The turn a message belongs to: the last one whose request is not after it. */
function turnAt(turns: TurnView[], messages: Message[], seq: number): number {
  const turn = messages.find((one) => one.seq === seq)?.turn_id;
  const byId = turn ? turns.findIndex((one) => one.key === turn) : -1;
  return byId >= 0 ? byId : turns.findLastIndex((one) => (one.said?.seq ?? 0) <= seq);
}

function JumpToTool({ turns, jump }: { turns: TurnView[]; jump: (index: number) => void }) {
  const { t } = useWords();
  const places = useMemo(() => {
    const found = new Map<string, number[]>();
    turns.forEach((turn, index) => turn.parts.forEach((part) => { if (part.kind === "tool") found.set(part.name, [...(found.get(part.name) ?? []), index]); }));
    return [...found];
  }, [turns]);
  if (!places.length) return null;
  return (
    <select aria-label={t("sessions.jump")} value="" onChange={(event) => jump(Number(event.target.value))}>
      <option value="">{t("sessions.jump")}</option>
      {places.map(([name, at]) => (
        <optgroup key={name} label={`${name} (${at.length})`}>{at.slice(0, 50).map((index, n) => <option key={`${index}-${n}`} value={index}>{name} · {n + 1}</option>)}</optgroup>
      ))}
    </select>
  );
}
