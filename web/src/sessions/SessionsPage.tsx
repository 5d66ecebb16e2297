import { useState } from "react";
import type { Session } from "@/api/types";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { VirtualList } from "@/components/VirtualList";
import { formatNumber, formatRelativeTime } from "@/i18n";
import { followLink, navigate } from "@/router";
import { useMessages } from "@/sessions/messages";
import { SearchResults, SessionsByTool } from "@/sessions/SearchResults";
import { SessionFilters } from "@/sessions/SessionFilters";
import { Transcript } from "@/sessions/Transcript";
import { NO_FILTER, type SessionFilter, useSessions } from "@/sessions/useSessions";
import css from "./sessions.module.css";

export default function Sessions({ rest }: { rest: string }) {
  const { t, language } = useMessages();
  const [filter, setFilter] = useState<SessionFilter>(NO_FILTER);
  const { total, getSession, loadRange, error, replace } = useSessions({ ...filter, text: "", tool: "" });
  const changeFilter = (changes: Partial<SessionFilter>) => setFilter((before) => ({ ...before, ...changes }));
  return (
    <div className={rest ? `${css.sessions} ${css.reading}` : css.sessions}>
      <section className={css.sessionsList}>
        <div className="row">
          {rest ? <h2 className="grow">{t("nav.sessions")}</h2> : <h1 className="grow">{t("nav.sessions")}</h1>}
          <a className="button" href="/import" onClick={followLink}>
            <Icon name="download" size={16} /> {t("nav.import")}
          </a>
        </div>
        <input
          data-search
          type="search"
          placeholder={t("sessions.search")}
          aria-label={t("sessions.search")}
          value={filter.text}
          onChange={(event) => changeFilter({ text: event.target.value })}
        />
        <SessionFilters filter={filter} onChange={changeFilter} />
        <ErrorMessage error={error} />
        {filter.text.trim() ? (
          <SearchResults filter={filter} />
        ) : filter.tool.trim() ? (
          <SessionsByTool filter={filter} />
        ) : (
          <>
            <p className={`dim ${css.sessionTotal}`} role="status">
              {total === null ? t("loading") : t("sessions.total", { n: formatNumber(total, language) })}
            </p>
            <VirtualList
              count={total ?? 0}
              rowHeight={76}
              onRangeChange={loadRange}
              label={t("nav.sessions")}
              renderRow={(index) => (
                <SessionRow session={getSession(index)} isCurrent={getSession(index)?.id === rest} />
              )}
            />
            {total === 0 && <p className="empty-state">{t("sessions.none")}</p>}
          </>
        )}
      </section>
      {rest && (
        <Transcript
          key={rest}
          id={rest}
          onChange={(session, id) => {
            replace(session, id);
            if (!session) navigate("/sessions");
          }}
        />
      )}
    </div>
  );
}

function SessionRow({ session, isCurrent }: { session: Session | undefined; isCurrent: boolean }) {
  const { t, language } = useMessages();
  if (!session) return <div className={`${css.sessionRow} ${css.loading}`} aria-busy="true" />;
  return (
    <a
      className={css.sessionRow}
      href={`/sessions/${encodeURIComponent(session.id)}`}
      onClick={followLink}
      aria-current={isCurrent ? "true" : undefined}
    >
      <span className={css.sessionTitle}>
        {session.pinned && <Icon name="pin" size={13} />}{" "}
        <span>{session.title ?? (session.preview || session.id)}</span>
      </span>
      <span className={css.sessionMeta}>
        <span className="pill">{session.source}</span>{" "}
        {session.tags.slice(0, 3).map((tag) => (
          <span key={tag} className="pill">
            #{tag}
          </span>
        ))}
        <span>{formatRelativeTime(session.last_active, language)}</span>{" "}
        <span>{t("sessions.messages", { n: formatNumber(session.message_count, language) })}</span>{" "}
        {session.model && <span className={css.sessionModel}>{session.model}</span>}
      </span>
    </a>
  );
}
