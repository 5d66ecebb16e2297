import type { Session } from "@/api/types";
import { SelectBox } from "@/bulk/SelectBox";
import type { Selection } from "@/bulk/useSelection";
import { Icon } from "@/components/Icon";
import { formatNumber, formatRelativeTime } from "@/i18n";
import { followLink } from "@/router";
import { useMessages } from "@/sessions/messages";
import { SessionMenu } from "@/sessions/SessionMenu";
import { getSessionLabel, getSessionUrl } from "@/sessions/sessionLinks";
import { getSourceLabel } from "@/sessions/sourceLabels";
import css from "./SessionRow.module.css";

interface Props {
  session: Session | undefined; // undefined while it loads
  index: number; // in the list
  selection: Selection;
  onChange: () => void;
  restore: ((session: Session) => void) | null; // in the trash
}

/** One session of the list: title, first words, and where, when and how much. */
export function SessionRow({ session, index, selection, onChange, restore }: Props) {
  const { t, language } = useMessages();
  if (!session) return <div className={`${css.sessionRow} ${css.loading}`} aria-busy="true" />;
  return (
    <div className={css.sessionRow} data-selected={selection.sessions.has(session.id) || undefined}>
      {selection.isActive && (
        <SelectBox
          title={getSessionLabel(session)}
          isSelected={selection.sessions.has(session.id)}
          toggle={(isRange) => selection.toggle(index, isRange)}
        />
      )}
      <a className={css.rowLink} href={getSessionUrl(session.id)} onClick={followLink}>
        <span className={css.sessionTitle}>
          {session.pinned && <Icon name="pin" size={13} />}
          {session.parent_session_id && <Icon name="branch" size={13} />}
          <span>{getSessionLabel(session)}</span>
          {session.waiting && <span className="pill bad">{t("sessions.waiting")}</span>}
          {session.running && !session.waiting && <span className="pill good">{t("sessions.running")}</span>}
        </span>
        {session.title && <span className={css.rowPreview}>{session.preview}</span>}
        <span className={css.sessionMeta}>
          <span className="pill">{getSourceLabel(session.source)}</span>
          {session.tags.slice(0, 3).map((tag) => (
            <span key={tag} className="pill">
              #{tag}
            </span>
          ))}
          <span>{formatRelativeTime(session.last_active, language)}</span>
          <span>{t("sessions.messages", { n: formatNumber(session.message_count, language) })}</span>
          {session.model && <span className={css.sessionModel}>{session.model}</span>}
        </span>
      </a>
      {selection.isActive ? null : restore ? (
        <button className="button" onClick={() => restore(session)}>
          {t("sessions.restore")}
        </button>
      ) : (
        <SessionMenu session={session} onChange={onChange} />
      )}
    </div>
  );
}
