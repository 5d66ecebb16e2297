import { useEffect, useState } from "react";
import { getJson, sendJson, wasAborted } from "@/api/http";
import type { FoundHistory, Session, Stats } from "@/api/types";
import { Icon } from "@/components/Icon";
import { Trouble } from "@/components/Trouble";
import { ago, count, useWords } from "@/i18n";
import { follow, go } from "@/router";

/** The first page: what there is, or what could be there. Needs no key and asks nothing. */
export function Welcome() {
  const { t, language } = useWords();
  const [stats, setStats] = useState<Stats | null>(null);
  const [newest, setNewest] = useState<Session[]>([]);
  const [histories, setHistories] = useState<FoundHistory[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    const leaving = new AbortController();
    const failed = (problem: unknown) => { if (!wasAborted(problem)) setError(problem); };
    getJson<Stats>("/api/stats", leaving.signal).then(setStats, failed);
    getJson<{ sessions: Session[] }>("/api/sessions?limit=6", leaving.signal).then((page) => setNewest(page.sessions), failed);
    getJson<FoundHistory[]>("/api/sources", leaving.signal).then(setHistories, failed);
    return () => leaving.abort();
  }, []);
  const samples = async () => {
    setBusy(true);
    try {
      await sendJson("POST", "/api/plugins/dashboard/samples");
      go("/sessions");
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  const first = stats?.sessions === 0;
  const readable = (histories ?? []).filter((one) => !one.problem && one.sessions > 0);
  return (
    <div className="page welcome">
      <section className="welcome-hero">
        <img src="/assets/icon.svg" alt="" width="64" height="64" />
        <h1>{stats === null ? "Sojourn" : first ? t("welcome.first") : t("welcome.back")}</h1>
        <p className="dim">{t("welcome.about")}</p>
        <a className="button primary" href="/chat" onClick={follow}><Icon name="chat" size={16} /> {t("welcome.chat")}</a>
      </section>
      <Trouble error={error} />
      <div className="welcome-grid">
        <a className="card" href="/import" onClick={follow}>
          <Icon name="download" size={24} />
          <h2>{t("welcome.import")}</h2>
          <p className="dim">{histories === null ? t("welcome.looking") : readable.length ? t("welcome.found", { what: readable.map((one) => `${one.source} (${count(one.sessions, language)})`).join(", ") }) : t("welcome.nothing")}</p>
        </a>
        {first ? (
          <button className="card" onClick={() => void samples()} disabled={busy}>
            <Icon name="copy" size={24} />
            <h2>{t("welcome.samples")}</h2>
            <p className="dim">{t("welcome.samples.hint")}</p>
          </button>
        ) : (
          <a className="card" href="/sessions" onClick={follow}>
            <Icon name="list" size={24} />
            <h2>{stats ? t("welcome.sessions", { n: count(stats.sessions, language) }) : t("nav.sessions")}</h2>
            <p className="dim">{stats ? t("welcome.messages", { n: count(stats.messages, language) }) : ""}</p>
          </a>
        )}
        <a className="card" href="/achievements" onClick={follow}>
          <Icon name="star" size={24} />
          <h2>{t("nav.achievements")}</h2>
          <p className="dim">{t("welcome.badges")}</p>
        </a>
      </div>
      {newest.length > 0 && (
        <section>
          <h2>{t("welcome.recent")}</h2>
          <ul className="recent">
            {newest.map((one) => (
              <li key={one.id}><a href={`/chat/${encodeURIComponent(one.id)}`} onClick={follow}><span className="grow">{one.title ?? (one.preview || one.id)}</span> <span className="pill">{one.source}</span> <span className="dim">{ago(one.last_active, language)}</span></a></li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
