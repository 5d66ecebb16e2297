import { useEffect, useRef, useState } from "react";
import type { Session } from "@/api/types";
import { groupByDay } from "@/chat/dayGroups";
import { useMessages } from "@/chat/messages";
import { useConversations } from "@/chat/useConversations";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { formatRelativeTime } from "@/i18n";
import { followLink, navigate } from "@/router";
import { getSessionLabel, getSessionUrl } from "@/sessions/sessionLinks";
import { getSourceLabel } from "@/sessions/sourceLabels";
import css from "./ConversationList.module.css";

/** Every conversation, pinned ones first, then by day. More are loaded as one scrolls. */
export function ConversationList({ current, close }: { current: string; close: (() => void) | null }) {
  const { t, language } = useMessages();
  const { sessions, hasMore, loadMore, error } = useConversations();
  const [words, setWords] = useState("");
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!end.current || !hasMore) return;
    const observer = new IntersectionObserver(([entry]) => entry!.isIntersecting && loadMore(), {
      rootMargin: "400px",
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [hasMore, loadMore, sessions?.length]);
  return (
    <aside className={css.conversations} aria-label={t("list.title")}>
      <div className={css.listHeader}>
        <h2>{t("list.title")}</h2>
        <a className="button primary" href="/chat/new" onClick={followLink}>
          <Icon name="plus" size={16} /> {t("chat.new")}
        </a>
        {close && (
          <button className="ghost" onClick={close} aria-label={t("action.close")}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <form
        className={css.listSearch}
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          if (words.trim()) navigate(`/sessions?q=${encodeURIComponent(words.trim())}`);
        }}
      >
        <Icon name="search" size={16} />
        <input
          data-search
          type="search"
          placeholder={t("list.search")}
          aria-label={t("list.search")}
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
      </form>
      <ErrorMessage error={error} />
      <nav className={css.listBody} aria-label={t("list.title")} aria-busy={sessions === null}>
        {sessions?.length === 0 && <p className={css.listEmpty}>{t("list.empty")}</p>}
        {groupByDay(sessions ?? [], language, t).map((group) => (
          <section key={group.label} aria-label={group.label}>
            <h3>{group.label}</h3>
            <ul>
              {group.sessions.map((session) => (
                <li key={session.id}>
                  <ConversationLink session={session} isCurrent={session.id === current} />
                </li>
              ))}
            </ul>
          </section>
        ))}
        <div ref={end} />
      </nav>
    </aside>
  );
}

function ConversationLink({ session, isCurrent }: { session: Session; isCurrent: boolean }) {
  const { t, language } = useMessages();
  const state = getState(session);
  return (
    <a
      className={css.conversationLink}
      href={getSessionUrl(session.id)}
      onClick={followLink}
      aria-current={isCurrent ? "page" : undefined}
      data-state={state ?? undefined}
    >
      <span className={css.linkTitle}>
        {session.branched_from && <Icon name="branch" size={13} />}
        <span>{getSessionLabel(session)}</span>
        {state && (
          <span className={state === "waiting" ? css.waitingMark : css.runningMark} title={t(`list.${state}`)}>
            <span className="visually-hidden">{t(`list.${state}`)}</span>
          </span>
        )}
      </span>
      <span className={css.linkMeta}>
        {getSourceLabel(session.source)} · {formatRelativeTime(session.last_active, language)}
      </span>
    </a>
  );
}

function getState(session: Session): "waiting" | "running" | null {
  return session.waiting ? "waiting" : session.running ? "running" : null;
}
