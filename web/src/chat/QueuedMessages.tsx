import { useCallback, useEffect, useState } from "react";
import { conversationApi, type OpenTurn } from "@/chat/conversationApi";
import { useMessages } from "@/chat/messages";
import { Icon } from "@/components/Icon";
import css from "./QueuedMessages.module.css";

interface Queue {
  turns: OpenTurn[];
  refresh: () => void;
  /** Takes turns back that have not begun; returns their words. */
  takeBack: (taken: OpenTurn[]) => Promise<string>;
}

/** What was said while an answer runs and waits for its turn; asked again whenever a turn begins or ends. */
export function useQueued(session: string, running: string | null): Queue {
  const [turns, setTurns] = useState<OpenTurn[]>([]);
  const refresh = useCallback(() => {
    if (!session) return setTurns([]);
    conversationApi.listTurns(session).then(
      (open) => setTurns(open.filter((turn) => turn.state === "queued")),
      () => undefined,
    );
  }, [session]);
  useEffect(refresh, [refresh, running]);
  const takeBack = async (taken: OpenTurn[]) => {
    const done = await Promise.allSettled(taken.map((turn) => conversationApi.takeBack(session, turn.turn_id)));
    refresh();
    return taken
      .filter((_, index) => done[index]!.status === "fulfilled")
      .map((turn) => turn.message)
      .join("\n\n");
  };
  return { turns, refresh, takeBack };
}

/** Messages that wait, each with a button that takes it back. */
export function QueuedMessages({ turns, takeBack }: { turns: OpenTurn[]; takeBack: (turn: OpenTurn) => void }) {
  const { t } = useMessages();
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
