import { useState } from "react";
import type { Session } from "@/api/types";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { VirtualList } from "@/components/VirtualList";
import { formatNumber, formatRelativeTime, useI18n } from "@/i18n";
import { followLink, navigate } from "@/router";
import { SearchResults, SessionsByTool } from "@/sessions/SearchResults";
import { SessionFilters } from "@/sessions/SessionFilters";
import { Transcript } from "@/sessions/Transcript";
import { NO_FILTER, useSessions, type SessionFilter } from "@/sessions/useSessions";

export default function Sessions({ rest }: { rest: string }) {
  const { t, language } = useI18n();
  const [filter, setFilter] = useState<SessionFilter>(NO_FILTER);
  const { total, getSession, loadRange, error, replace } = useSessions({ ...filter, text: "", tool: "" });
  const changeFilter = (changes: Partial<SessionFilter>) => setFilter((before) => ({ ...before, ...changes }));
  return (
    <div className={rest ? "sessions reading" : "sessions"}>
      <section className="sessions-list">
        <div className="row">
          {rest ? <h2 className="grow">{t("nav.sessions")}</h2> : <h1 className="grow">{t("nav.sessions")}</h1>}
          <a className="button" href="/import" onClick={followLink}><Icon name="download" size={16} /> {t("nav.import")}</a>
        </div>
        <input data-search type="search" placeholder={t("sessions.search")} aria-label={t("sessions.search")} value={filter.text} onChange={(event) => changeFilter({ text: event.target.value })} />
        <SessionFilters filter={filter} onChange={changeFilter} />
        <ErrorMessage error={error} />
        {filter.text.trim() ? (
          <SearchResults filter={filter} />
        ) : filter.tool.trim() ? (
          <SessionsByTool filter={filter} />
        ) : (
          <>
            <p className="dim session-total" role="status">{total === null ? t("loading") : t("sessions.total", { n: formatNumber(total, language) })}</p>
            <VirtualList count={total ?? 0} rowHeight={76} onRangeChange={loadRange} label={t("nav.sessions")} renderRow={(index) => <SessionRow session={getSession(index)} isCurrent={getSession(index)?.id === rest} />} />
            {total === 0 && <p className="empty-state">{t("sessions.none")}</p>}
          </>
        )}
      </section>
      {rest && <Transcript key={rest} id={rest} onChange={(session, id) => { replace(session, id); if (!session) navigate("/sessions"); }} />}
    </div>
  );
}

function SessionRow({ session, isCurrent }: { session: Session | undefined; isCurrent: boolean }) {
  const { t, language } = useI18n();
  if (!session) return <div className="session-row loading" aria-busy="true" />;
  return (
    <a className="session-row" href={`/sessions/${encodeURIComponent(session.id)}`} onClick={followLink} aria-current={isCurrent ? "true" : undefined}>
      <span className="session-title">{session.pinned && <Icon name="pin" size={13} />} <span>{session.title ?? (session.preview || session.id)}</span></span>
      <span className="session-meta">
        <span className="pill">{session.source}</span> {session.tags.slice(0, 3).map((tag) => <span key={tag} className="pill">#{tag}</span>)}
        <span>{formatRelativeTime(session.last_active, language)}</span> <span>{t("sessions.messages", { n: formatNumber(session.message_count, language) })}</span> {session.model && <span className="session-model">{session.model}</span>}
      </span>
    </a>
  );
}
