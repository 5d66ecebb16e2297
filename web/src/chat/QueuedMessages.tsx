import { useCallback, useEffect, useState } from "react";
import { conversationApi, type OpenTurn } from "@/chat/conversationApi";
import { useMessages } from "@/chat/messages";
import { Icon } from "@/components/Icon";
import css from "./QueuedMessages.module.css";

/** What was said while an answer runs and waits for its turn; asked again whenever a turn begins or ends. */
export function useQueued(session: string, running: string | null): { turns: OpenTurn[]; refresh: () => void } {
  const [turns, setTurns] = useState<OpenTurn[]>([]);
  const refresh = useCallback(() => {
    if (!session) return setTurns([]);
    conversationApi.listTurns(session).then(
      (open) => setTurns(open.filter((turn) => turn.state === "queued")),
      () => undefined,
    );
  }, [session]);
  useEffect(refresh, [refresh, running]);
  return { turns, refresh };
}

/** Messages that wait, each with a button that takes it back. */
export function QueuedMessages({
  turns,
  session,
  refresh,
}: {
  turns: OpenTurn[];
  session: string;
  refresh: () => void;
}) {
  const { t } = useMessages();
  const takeBack = (turn: OpenTurn) => void conversationApi.takeBack(session, turn.turn_id).then(refresh, refresh);
  return turns.map((turn) => (
    <div key={turn.turn_id} className={css.queued} data-queued={turn.turn_id}>
      <div>{turn.message}</div>
      <p>
        <Icon name="clock" size={14} /> {t("chat.queued")}
        <button className="ghost" onClick={() => takeBack(turn)}>
          {t("chat.takeback")}
        </button>
      </p>
    </div>
  ));
}
