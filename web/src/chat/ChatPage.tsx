import { lazy, Suspense, useEffect, useState } from "react";
import { Conversation } from "@/chat/Conversation";
import { ConversationList } from "@/chat/ConversationList";
import { rememberChat } from "@/chat/lastChat";
import { useIsPhone } from "@/components/useIsPhone";
import { useLocation } from "@/router";
import css from "./ChatPage.module.css";

const Comparison = lazy(() => import("@/compare/Comparison"));

/** The workspace: every conversation on the left, the open one on the right. `?at=SEQ` opens it at a message,
 * `?beside=ID` shows another one beside it. */
export default function ChatPage({ rest }: { rest: string }) {
  const isPhone = useIsPhone();
  const [isListOpen, setIsListOpen] = useState(false);
  const query = new URLSearchParams(useLocation().split("?")[1] ?? "");
  const id = rest === "new" ? "" : rest;
  const beside = query.get("beside");
  const openList = isPhone ? () => setIsListOpen(true) : null;
  useEffect(() => {
    setIsListOpen(false);
    rememberChat(id);
  }, [rest]);
  return (
    <div className={css.workspace}>
      {(!isPhone || isListOpen) && (
        <ConversationList current={id} close={isPhone ? () => setIsListOpen(false) : null} />
      )}
      {isPhone && isListOpen ? null : id && beside ? (
        <Suspense>
          <Comparison key={`${id} ${beside}`} left={id} right={beside} openList={openList} />
        </Suspense>
      ) : (
        <Conversation
          key={id}
          id={id}
          anchor={Number(query.get("at") ?? 0)}
          words={query.get("q") ?? ""}
          openList={openList}
        />
      )}
    </div>
  );
}
