import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type ChatView, findAnchor, isSummarised, type TurnView } from "@/chat/chatView";
import { highlightWords } from "@/chat/highlightWords";
import { useMessages } from "@/chat/messages";
import { TurnCard } from "@/chat/TurnCard";
import type { Conversation } from "@/chat/useChatView";
import type { TurnActions } from "@/chat/useTurnActions";
import { Icon } from "@/components/Icon";
import css from "./Log.module.css";

interface Props {
  chat: Conversation;
  session: string;
  anchor: number;
  words: string;
  actions: TurnActions;
  children: ReactNode;
}

const END_PX = 90; // closer to the end than this follows what comes

/** The turns of a conversation. Older ones load on the way up, and the end stays in view until the person scrolls away. */
export function Log({ chat, session, anchor, words, actions, children }: Props) {
  const { t } = useMessages();
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const heightBelow = useRef(0); // from the top of what is in sight to the end
  const [isAway, setIsAway] = useState(false);
  const { view, hasOlder, hasNewer, loadOlder, loadNewer } = chat;
  const target = useMemo(() => (anchor ? findAnchor(view, anchor) : null), [anchor, view]);
  useLayoutEffect(() => {
    const element = box.current!;
    element.scrollTop = element.scrollHeight - heightBelow.current; // older turns came in above what is in sight
  }, [view.firstSeq]);
  useLayoutEffect(() => {
    const element = box.current!;
    if (isAtEnd.current && !anchor && session) scrollToEnd(element);
    heightBelow.current = element.scrollHeight - element.scrollTop;
  }, [view, children]);
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current && !anchor && session) scrollToEnd(box.current!);
    });
    observer.observe(box.current!.firstElementChild!);
    return () => observer.disconnect();
  }, [anchor, session]);
  useScrollToTarget(box, target?.seq ?? 0, words, view);

  const handleScroll = () => {
    const element = box.current!;
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    isAtEnd.current = below < END_PX && !hasNewer;
    setIsAway(below > 400 || hasNewer);
    heightBelow.current = element.scrollHeight - element.scrollTop;
    if (hasOlder && element.scrollTop < 900) loadOlder();
    if (hasNewer && below < 900) loadNewer();
  };
  useEffect(() => {
    const element = box.current!;
    if (hasOlder && element.scrollHeight <= element.clientHeight + 200) loadOlder(); // too little to scroll
  }, [view, hasOlder, loadOlder]);
  const jumpToEnd = () => {
    isAtEnd.current = true;
    if (hasNewer || anchor) actions.leaveAnchor();
    scrollToEnd(box.current!);
  };

  return (
    <div className={css.logFrame}>
      <div className={css.chatBody} ref={box} onScroll={handleScroll} tabIndex={0} role="log" aria-live="off">
        <div className={css.chatColumn}>
          {hasOlder && (
            <button className={`button ${css.older}`} onClick={loadOlder}>
              {t("chat.older")}
            </button>
          )}
          {chat.loading && (
            <p className="dim" role="status">
              {t("loading")}
            </p>
          )}
          <TurnList
            chat={chat}
            session={session}
            actions={actions}
            targetSeq={target?.seq ?? 0}
            targetKey={target?.turn.key ?? ""}
          />
          {hasNewer && (
            <button className={`button ${css.older}`} onClick={loadNewer}>
              {t("chat.newer")}
            </button>
          )}
          {children}
        </div>
      </div>
      {isAway && (
        <button className={css.jump} onClick={jumpToEnd} aria-label={t("chat.jump")} title={t("chat.jump")}>
          <Icon name="down_arrow" size={18} />
        </button>
      )}
    </div>
  );
}

const scrollToEnd = (element: HTMLElement) => {
  element.scrollTop = element.scrollHeight;
};

/** Brings the message that a link leads to into view, once, and highlights the words that were searched for. */
function useScrollToTarget(
  box: React.RefObject<HTMLDivElement | null>,
  seq: number,
  words: string,
  view: ChatView,
): void {
  const find = () => box.current?.querySelector<HTMLElement>(`[data-seq="${seq}"]`) ?? null;
  useEffect(() => highlightWords(seq ? find() : null, words), [seq, words, view]);
  useEffect(() => {
    if (!seq) return;
    const frame = requestAnimationFrame(() => {
      const element = find();
      for (let fold = element?.closest("details"); fold; fold = fold.parentElement?.closest("details"))
        fold.open = true;
      if (element instanceof HTMLDetailsElement) element.open = true;
      element?.scrollIntoView({ block: "center" });
    });
    return () => cancelAnimationFrame(frame);
  }, [seq, words]);
}

interface ListProps {
  chat: Conversation;
  session: string;
  actions: TurnActions;
  targetSeq: number;
  targetKey: string;
}

/** The turns; those that were summarised for the model are folded together, not left out. */
function TurnList({ chat, session, actions, targetSeq, targetKey }: ListProps) {
  const { t } = useMessages();
  const groups = groupSummarised(chat.view.turns.filter((turn) => !turn.isUndone));
  const last = chat.view.turns.at(-1)?.key;
  const render = (turn: TurnView) => (
    <TurnCard
      key={turn.key}
      turn={turn}
      session={session}
      model={chat.session?.model ?? ""}
      isLast={turn.key === last}
      isLive={turn === chat.running}
      targetSeq={turn.key === targetKey ? targetSeq : 0}
      answerApproval={chat.answerApproval}
      actions={actions}
    />
  );
  return groups.map((group) =>
    group.isSummarised ? (
      <details
        key={`s${group.turns[0]!.key}`}
        className={css.summarised}
        open={group.turns.some((turn) => turn.key === targetKey) || undefined}
      >
        <summary>
          <Icon name="box" size={15} /> {t("chat.summarised", { n: group.turns.length })}
        </summary>
        <div className={css.summarisedTurns}>{group.turns.map(render)}</div>
      </details>
    ) : (
      group.turns.map(render)
    ),
  );
}

function groupSummarised(turns: TurnView[]): Array<{ isSummarised: boolean; turns: TurnView[] }> {
  const groups: Array<{ isSummarised: boolean; turns: TurnView[] }> = [];
  for (const turn of turns) {
    const last = groups.at(-1);
    if (last && last.isSummarised === isSummarised(turn)) last.turns.push(turn);
    else groups.push({ isSummarised: isSummarised(turn), turns: [turn] });
  }
  return groups;
}
