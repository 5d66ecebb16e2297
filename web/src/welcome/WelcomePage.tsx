import { useEffect, useState } from "react";
import { getJson, isAbortError, sendJson } from "@/api/http";
import type { FoundHistory, Session, StoreStats } from "@/api/types";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { ModelCards } from "@/components/ModelCards";
import { countImported, isReadable, listNewHistories, type SessionCounts } from "@/histories/importedSessions";
import { formatNumber, formatRelativeTime } from "@/i18n";
import { followLink, navigate } from "@/router";
import { getSourceLabel } from "@/sessions/sourceLabels";
import { useMessages } from "@/welcome/messages";

/** The start page: recent sessions, or on a first visit what to begin with. */
export function WelcomePage() {
  const { t, language } = useMessages();
  const [stats, setStats] = useState<StoreStats | null>(null);
  const [newest, setNewest] = useState<Session[]>([]);
  const [histories, setHistories] = useState<FoundHistory[] | null>(null);
  const [counts, setCounts] = useState<SessionCounts | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setIsBusy] = useState(false);
  useEffect(() => {
    const controller = new AbortController();
    const reportFailure = (problem: unknown) => {
      if (!isAbortError(problem)) setError(problem);
    };
    getJson<StoreStats>("/api/stats", controller.signal).then(setStats, reportFailure);
    getJson<{ sessions: Session[] }>("/api/sessions?subagents=false&limit=6", controller.signal).then(
      (page) => setNewest(page.sessions),
      reportFailure,
    );
    getJson<FoundHistory[]>("/api/sources", controller.signal).then(setHistories, reportFailure);
    countImported(controller.signal).then(setCounts, reportFailure);
    return () => controller.abort();
  }, []);
  const addSamples = async () => {
    setIsBusy(true);
    try {
      await sendJson("POST", "/api/plugins/dashboard/samples");
      navigate("/sessions");
    } catch (problem) {
      setError(problem);
      setIsBusy(false);
    }
  };
  const isFirstVisit = stats?.sessions === 0;
  const readable = (histories ?? []).filter(isReadable);
  const fresh = listNewHistories(histories ?? [], counts ?? {});
  return (
    <div className="page">
      <section className={isFirstVisit ? "welcome-hero" : "welcome-hero compact"}>
        <img src="/assets/icon.svg" alt="" width="64" height="64" />
        <h1>{stats === null ? "Sojourn" : isFirstVisit ? t("welcome.first") : t("welcome.back")}</h1>
        <p className="dim">{t(isFirstVisit ? "welcome.about" : "welcome.again")}</p>
        <a className="button primary" href="/chat" onClick={followLink}>
          <Icon name="chat" size={16} /> {t("welcome.chat")}
        </a>
      </section>
      <ModelCards />
      <ErrorMessage error={error} />
      {newest.length > 0 && (
        <section>
          <h2>{t("welcome.recent")}</h2>
          <ul className="link-list">
            {newest.map((session) => (
              <li key={session.id}>
                <a href={`/chat/${encodeURIComponent(session.id)}`} onClick={followLink}>
                  <span className="grow">{session.title ?? (session.preview || session.id)}</span>{" "}
                  <span className="pill">{getSourceLabel(session.source)}</span>{" "}
                  <span className="dim">{formatRelativeTime(session.last_active, language)}</span>
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
      <div className="welcome-grid">
        <a className="card" href="/import" onClick={followLink}>
          <Icon name="download" size={24} />
          <h2>{t("welcome.import")}</h2>
          <p className="dim">
            {histories === null || counts === null
              ? t("welcome.looking")
              : fresh.length
                ? t("welcome.found", {
                    what: fresh
                      .map(
                        (history) => `${getSourceLabel(history.source)} (${formatNumber(history.sessions, language)})`,
                      )
                      .join(", "),
                  })
                : t(readable.length ? "welcome.allhere" : "welcome.notfound")}
          </p>
        </a>
        {isFirstVisit ? (
          <button className="card" onClick={() => void addSamples()} disabled={isBusy}>
            <Icon name="copy" size={24} />
            <h2>{t("welcome.samples")}</h2>
            <p className="dim">{t("welcome.samples.hint")}</p>
          </button>
        ) : (
          <a className="card" href="/sessions" onClick={followLink}>
            <Icon name="list" size={24} />
            <h2>{stats ? t("welcome.sessions", { n: formatNumber(stats.sessions, language) }) : t("nav.sessions")}</h2>
            <p className="dim">{stats ? t("welcome.messages", { n: formatNumber(stats.messages, language) }) : ""}</p>
          </a>
        )}
        <a className="card" href="/achievements" onClick={followLink}>
          <Icon name="star" size={24} />
          <h2>{t("nav.achievements")}</h2>
          <p className="dim">{t("welcome.badges")}</p>
        </a>
      </div>
    </div>
  );
}
