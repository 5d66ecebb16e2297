import { useEffect } from "react";
import { HandoffDialog } from "@/chat/HandoffDialog";
import { useMessages } from "@/chat/messages";
import { SubagentMenu } from "@/chat/SubagentMenu";
import type { Conversation } from "@/chat/useChatView";
import { Icon } from "@/components/Icon";
import { setPageTitle } from "@/components/usePageTitle";
import { formatDateTime, formatNumber } from "@/i18n";
import { followLink, navigate } from "@/router";
import { SessionMenu } from "@/sessions/SessionMenu";
import { SessionTitle } from "@/sessions/SessionTitle";
import { getBranchUrl, getSessionLabel, getSessionUrl } from "@/sessions/sessionLinks";
import { getSourceLabel } from "@/sessions/sourceLabels";
import css from "./ConversationHeader.module.css";

interface Props {
  id: string;
  chat: Conversation;
  openList: (() => void) | null;
  isFinding: boolean;
  toggleFind: () => void;
}

/** Title and facts of a conversation, and what can be done with it. */
export function ConversationHeader({ id, chat, openList, isFinding, toggleFind }: Props) {
  const { t, language } = useMessages();
  const { session } = chat;
  const label = session ? getSessionLabel(session) : "";
  useEffect(() => {
    if (label) setPageTitle(label);
  }, [label]);
  const driver = chat.view.driver;
  return (
    <header className={css.chatHeader}>
      {openList && (
        <button className="ghost" onClick={openList} aria-label={t("list.title")}>
          <Icon name="list" />
        </button>
      )}
      <div className={css.headerTitle}>
        {session ? <SessionTitle session={session} onChange={chat.setSession} /> : <h1>{id ? "…" : t("chat.new")}</h1>}
        {session && (
          <p className={css.headerFacts}>
            {driver && driver !== "web" && (
              <span className="pill" data-driver={driver}>
                <Icon name="wheel" size={13} /> {t("chat.driver", { who: getSourceLabel(driver) })}
              </span>
            )}
            {driver === "web" && <span data-driver="web" hidden />}
            {session.branched_from && (
              <a href={getBranchUrl(session.branched_from)} onClick={followLink}>
                <Icon name="branch" size={13} /> {t("chat.parent")}
              </a>
            )}
            {session.parent_session_id && !session.branched_from && (
              <a href={getSessionUrl(session.parent_session_id)} onClick={followLink}>
                <Icon name="bot" size={13} /> {t("chat.subagentof")}
              </a>
            )}
            <span>{getSourceLabel(session.source)}</span>
            <span>{formatDateTime(session.started_at, language)}</span>
            <span>{t("sessions.messages", { n: formatNumber(session.message_count, language) })}</span>
            {session.tags.map((tag) => (
              <a key={tag} href={`/sessions?tag=${encodeURIComponent(tag)}`} onClick={followLink}>
                #{tag}
              </a>
            ))}
          </p>
        )}
      </div>
      {!chat.connected && (
        <span className="pill bad" role="status">
          {t("chat.reconnecting")}
        </span>
      )}
      {session && (
        <>
          <button
            className="ghost"
            onClick={toggleFind}
            aria-pressed={isFinding}
            aria-label={t("find.open")}
            title={t("find.open")}
          >
            <Icon name="search" size={18} />
          </button>
          <SubagentMenu session={session} />
          <HandoffDialog
            key={id}
            session={id}
            isDriver={!driver || driver === "web"}
            isBusy={chat.running !== null}
            isInProgress={["pending", "running"].includes(session.handoff_state ?? "")}
            needsApproval={Boolean(chat.running?.question)}
            onMoved={chat.refresh}
          />
          <SessionMenu
            session={session}
            onChange={(changed) => (changed ? chat.setSession(changed) : navigate("/chat/new"))}
          />
        </>
      )}
    </header>
  );
}
