import { useEffect, useState } from "react";
import { Conversation } from "@/chat/Conversation";
import { ConversationList } from "@/chat/ConversationList";
import { rememberChat } from "@/chat/lastChat";
import { useIsPhone } from "@/components/useIsPhone";
import { useLocation } from "@/router";
import css from "./ChatPage.module.css";

/** The workspace: every conversation on the left, the open one on the right. `?at=SEQ` opens it at a message. */
export default function ChatPage({ rest }: { rest: string }) {
  const isPhone = useIsPhone();
  const [isListOpen, setIsListOpen] = useState(false);
  const query = new URLSearchParams(useLocation().split("?")[1] ?? "");
  const id = rest === "new" ? "" : rest;
  useEffect(() => {
    setIsListOpen(false);
    rememberChat(id);
  }, [rest]);
  return (
    <div className={css.workspace}>
      {(!isPhone || isListOpen) && (
        <ConversationList current={id} close={isPhone ? () => setIsListOpen(false) : null} />
      )}
      {!(isPhone && isListOpen) && (
        <Conversation
          key={id}
          id={id}
          anchor={Number(query.get("at") ?? 0)}
          words={query.get("q") ?? ""}
          openList={isPhone ? () => setIsListOpen(true) : null}
        />
      )}
    </div>
  );
}
