import { useState } from "react";
import type { Session } from "@/api/types";
import { Icon } from "@/components/Icon";
import { Trouble } from "@/components/Trouble";
import { Virtual } from "@/components/Virtual";
import { ago, count, useWords } from "@/i18n";
import { follow, go } from "@/router";
import { Filters } from "@/sessions/Filters";
import { ByTool, Hits } from "@/sessions/Hits";
import { Reader } from "@/sessions/Reader";
import { ANY, useSessions, type Wanted } from "@/sessions/useSessions";

export default function Sessions({ rest }: { rest: string }) {
  const { t, language } = useWords();
  const [wanted, setWanted] = useState<Wanted>(ANY);
  const { total, at, see, error, replace } = useSessions({ ...wanted, text: "", tool: "" });
  const change = (some: Partial<Wanted>) => setWanted((before) => ({ ...before, ...some }));
  return (
    <div className={rest ? "sessions reading" : "sessions"}>
      <section className="sessions-list">
        <div className="row">
          {rest ? <h2 className="grow">{t("nav.sessions")}</h2> : <h1 className="grow">{t("nav.sessions")}</h1>}
          <a className="button" href="/import" onClick={follow}><Icon name="download" size={16} /> {t("nav.import")}</a>
        </div>
        <input data-search type="search" placeholder={t("sessions.search")} aria-label={t("sessions.search")} value={wanted.text} onChange={(event) => change({ text: event.target.value })} />
        <Filters wanted={wanted} change={change} />
        <Trouble error={error} />
        {wanted.text.trim() ? (
          <Hits wanted={wanted} />
        ) : wanted.tool.trim() ? (
          <ByTool wanted={wanted} />
        ) : (
          <>
            <p className="dim total" role="status">{total === null ? t("loading") : t("sessions.total", { n: count(total, language) })}</p>
            <Virtual count={total ?? 0} height={76} seen={see} label={t("nav.sessions")} row={(index) => <Row session={at(index)} current={at(index)?.id === rest} />} />
            {total === 0 && <p className="empty">{t("sessions.none")}</p>}
          </>
        )}
      </section>
      {rest && <Reader key={rest} id={rest} changed={(now, id) => { replace(now, id); if (!now) go("/sessions"); }} />}
    </div>
  );
}

function Row({ session, current }: { session: Session | undefined; current: boolean }) {
  const { t, language } = useWords();
  if (!session) return <div className="session-row missing" aria-busy="true" />;
  return (
    <a className="session-row" href={`/sessions/${encodeURIComponent(session.id)}`} onClick={follow} aria-current={current ? "true" : undefined}>
      <span className="session-title">{session.pinned && <Icon name="pin" size={13} />} <span>{session.title ?? (session.preview || session.id)}</span></span>
      <span className="session-meta">
        <span className="pill">{session.source}</span> {session.tags.slice(0, 3).map((tag) => <span key={tag} className="pill">#{tag}</span>)}
        <span>{ago(session.last_active, language)}</span> <span>{t("sessions.messages", { n: count(session.message_count, language) })}</span> {session.model && <span className="session-model">{session.model}</span>}
      </span>
    </a>
  );
}
