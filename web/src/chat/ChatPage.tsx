import { useEffect, useRef, useState } from "react";
import { Composer } from "@/chat/Composer";
import { conversationApi, type TurnRequest } from "@/chat/conversationApi";
import { HandoffDialog } from "@/chat/HandoffDialog";
import { useMessages } from "@/chat/messages";
import { TurnCard } from "@/chat/TurnCard";
import { useChatView } from "@/chat/useChatView";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { followLink, navigate } from "@/router";
import css from "./chat.module.css";

const PAGE_TURNS = 60; // turns per page; older pages on request

export default function ChatPage({ rest }: { rest: string }) {
  const { t } = useMessages();
  const chat = useChatView(rest);
  const [pagesShown, setPagesShown] = useState(1);
  const newSession = useRef("");

  /** The session's id; a new session is created with its first message or file. */
  const ensureSession = async (runtime = "", model = ""): Promise<string> => {
    if (rest) return rest;
    newSession.current ||= (await conversationApi.createSession(runtime, model)).id;
    return newSession.current;
  };
  const send = async (request: TurnRequest) => {
    if (rest) return chat.send(request);
    const id = await ensureSession(request.runtime, request.model);
    await conversationApi.startTurn(id, request);
    newSession.current = "";
    navigate(`/chat/${id}`, true);
  };
  const upload = async (file: File) => conversationApi.uploadAttachment(await ensureSession(), file);

  const turns = chat.view.turns;
  const shown = turns.slice(-PAGE_TURNS * pagesShown);
  const otherDriver = chat.view.driver && chat.view.driver !== "web" ? chat.view.driver : null;
  return (
    <div className={css.chat}>
      <header className={css.chatHeader}>
        <h1>{rest ? (chat.session?.title ?? chat.session?.preview ?? "…") : t("chat.new")}</h1>
        {chat.view.driver && (
          <span className="pill" data-driver={chat.view.driver}>
            <Icon name="wheel" size={14} /> {t("chat.driver", { who: chat.view.driver })}
          </span>
        )}
        {!chat.connected && (
          <span className="pill bad" role="status">
            {t("chat.reconnecting")}
          </span>
        )}
        {rest && chat.session && (
          <HandoffDialog
            key={rest}
            session={rest}
            isDriver={!otherDriver}
            isBusy={chat.running !== null}
            isInProgress={["pending", "running"].includes(chat.session.handoff_state ?? "")}
            onMoved={chat.refresh}
          />
        )}
        {rest && (
          <a className="button" href={`/sessions/${rest}`} onClick={followLink}>
            <Icon name="list" size={16} /> {t("chat.transcript")}
          </a>
        )}
        {rest && (
          <a className="button" href="/chat" onClick={followLink}>
            <Icon name="plus" size={16} /> {t("chat.new")}
          </a>
        )}
      </header>
      <AutoScroll trigger={chat.view}>
        {!rest && <ChatWelcome />}
        {chat.loading && (
          <p className="dim" role="status">
            {t("loading")}
          </p>
        )}
        {turns.length > shown.length && (
          <button className="button" onClick={() => setPagesShown(pagesShown + 1)}>
            {t("chat.earlier")}
          </button>
        )}
        {shown.map((turn) => (
          <TurnCard key={turn.key} turn={turn} session={rest} isLive answerApproval={chat.answerApproval} />
        ))}
        <ErrorMessage error={chat.error} />
      </AutoScroll>
      {otherDriver && (
        <div className={css.takeoverBanner} role="status">
          {t("chat.driver.elsewhere", { who: otherDriver })}{" "}
          <button className="button" onClick={chat.takeOver}>
            {t("chat.takeover")}
          </button>
        </div>
      )}
      <Composer key={rest} isBusy={chat.running !== null} send={send} stop={chat.stop} upload={upload} />
    </div>
  );
}

function ChatWelcome() {
  const { t } = useMessages();
  return (
    <div className={css.chatWelcome}>
      <img src="/assets/icon.svg" alt="" width="56" height="56" />
      <h2>{t("chat.welcome")}</h2>
      <p className="dim">{t("chat.welcome.hint")}</p>
    </div>
  );
}

/** Keeps the end of the conversation in view, unless the person scrolled up to read. */
function AutoScroll({ trigger, children }: { trigger: unknown; children: React.ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  useEffect(() => {
    if (isFollowing.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [trigger]);
  const handleScroll = () => {
    const element = box.current!;
    isFollowing.current = element.scrollHeight - element.scrollTop - element.clientHeight < 60;
  };
  return (
    <div className={css.chatBody} ref={box} onScroll={handleScroll} tabIndex={0} role="log" aria-live="off">
      <div className={css.chatColumn}>{children}</div>
    </div>
  );
}
