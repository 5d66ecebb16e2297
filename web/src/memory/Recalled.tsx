import { useEffect, useState } from "react";
import { getJson, wasAborted } from "@/api/http";
import type { Session } from "@/api/types";
import { Trouble } from "@/components/Trouble";
import { count, useWords } from "@/i18n";
import { follow } from "@/router";

interface Piece {
  kind?: string;
  title?: string;
  source?: string;
  origin?: string;
  reason?: string;
  tokens?: number;
}
interface Used {
  turn: string;
  pieces: Piece[];
  left_out: string[];
}

/** What the turns of a session were given besides the words that were said, and why. */
export function Recalled() {
  const { t } = useWords();
  const [sessions, setSessions] = useState<Session[] | null>(null);
  const [chosen, setChosen] = useState("");
  const [used, setUsed] = useState<Used[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const leaving = new AbortController();
    getJson<{ sessions: Session[] }>("/api/sessions?limit=100", leaving.signal).then((found) => {
      setSessions(found.sessions);
      setChosen((before) => before || (found.sessions[0]?.id ?? ""));
    }, (problem: unknown) => { if (!wasAborted(problem)) setError(problem); });
    return () => leaving.abort();
  }, []);
  useEffect(() => {
    if (!chosen) return;
    const leaving = new AbortController();
    setUsed(null);
    getJson<Used[]>(`/api/plugins/memory/used/${encodeURIComponent(chosen)}`, leaving.signal).then(
      (found) => { setUsed(found); setError(null); },
      (problem: unknown) => { if (!wasAborted(problem)) setError(problem); },
    );
    return () => leaving.abort();
  }, [chosen]);
  const told = used?.map((one, index) => ({ ...one, n: index + 1 })).filter((one) => one.pieces.length || one.left_out.length);
  return (
    <section className="card" aria-label={t("memory.used")}>
      <h2>{t("memory.used")}</h2>
      <p className="dim">{t("memory.used.about")}</p>
      {sessions?.length === 0 && <p className="empty">{t("memory.used.nosession")}</p>}
      {Boolean(sessions?.length) && (
        <label>{t("memory.session")} <select value={chosen} onChange={(event) => setChosen(event.target.value)}>{sessions!.map((one) => <option key={one.id} value={one.id}>{(one.title ?? (one.preview || one.id)).slice(0, 80)}</option>)}</select> <a href={`/chat/${encodeURIComponent(chosen)}`} onClick={follow}>{t("nav.chat")}</a></label>
      )}
      <Trouble error={error} />
      {told?.length === 0 && <p className="dim">{t("memory.used.none")}</p>}
      {told?.toReversed().map((one) => <Turn key={one.turn} turn={one} />)}
    </section>
  );
}

function Turn({ turn }: { turn: Used & { n: number } }) {
  const { t, language } = useWords();
  return (
    <div className="used-turn" data-used={turn.turn}>
      <h3>{t("memory.turn", { n: turn.n })}</h3>
      <ul>
        {turn.pieces.map((one, index) => (
          <li key={index}>
            <strong>{one.title}</strong> <span className="pill">{one.kind}</span> {typeof one.tokens === "number" && <span className="dim">{t("templates.tokens", { n: count(one.tokens, language) })}</span>}
            <br /><span>{one.reason}</span> {(one.origin || one.source) && <span className="dim">{t("memory.from")} {one.origin ?? one.source}</span>}
          </li>
        ))}
      </ul>
      {turn.left_out.length > 0 && <p className="dim">{t("memory.left", { what: turn.left_out.join(", ") })}</p>}
    </div>
  );
}
