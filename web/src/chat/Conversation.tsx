import { useRef, useState } from "react";
import { ChatWelcome } from "@/chat/ChatWelcome";
import { CommandAnswerCard } from "@/chat/CommandAnswerCard";
import { Composer } from "@/chat/Composer";
import { ConversationHeader } from "@/chat/ConversationHeader";
import { conversationApi, type OpenTurn, type ReportUpload, type TurnRequest } from "@/chat/conversationApi";
import { FindBar } from "@/chat/FindBar";
import { Log } from "@/chat/Log";
import { useMessages } from "@/chat/messages";
import { QueuedMessages, useQueued } from "@/chat/QueuedMessages";
import { useChatCommands } from "@/chat/useChatCommands";
import { useChatView } from "@/chat/useChatView";
import { forgetDraft } from "@/chat/useDraft";
import { useTurnActions } from "@/chat/useTurnActions";
import { startComparison } from "@/compare/comparison";
import type { ModelChoice } from "@/compare/modelChoices";
import { ErrorMessage } from "@/components/ErrorMessage";
import { navigate } from "@/router";
import { getSourceLabel } from "@/sessions/sourceLabels";
import css from "./Conversation.module.css";

interface Props {
  id: string; // "" is a new conversation
  anchor: number;
  words: string;
  openList: (() => void) | null;
}

/** One conversation: to read, to search and to continue. */
export function Conversation({ id, anchor, words, openList }: Props) {
  const { t } = useMessages();
  const chat = useChatView(id, anchor);
  const [isFinding, setIsFinding] = useState(Boolean(words));
  const [failure, setFailure] = useState<unknown>(null);
  const queue = useQueued(id, chat.running?.key ?? null);
  const [returned, setReturned] = useState("");
  const commands = useChatCommands(id, chat.refresh);
  const newSession = useRef("");
  const driver = chat.view.driver && chat.view.driver !== "web" ? chat.view.driver : null;

  /** A new session is made with its first message, together with its files. */
  const ensureSession = async (request: TurnRequest): Promise<string> => {
    if (id) return id;
    newSession.current ||= (await conversationApi.createSession(request.runtime, request.model)).id;
    return newSession.current;
  };
  const send = async (request: TurnRequest, files: File[], report: ReportUpload): Promise<void> => {
    setFailure(null);
    const session = await ensureSession(request);
    if (driver) await chat.takeOver();
    const wish = { ...request, attachments: await conversationApi.uploadAll(session, files, report) };
    if (id) await chat.send(wish);
    else await conversationApi.startTurn(session, wish);
    if (chat.running) queue.refresh();
    if (!id) {
      forgetDraft(id);
      navigate(`/chat/${session}`, true);
    }
  };
  /** What is taken back stands in the box again, where it can be changed. */
  const returnWords = async (turns: OpenTurn[]) => setReturned(await queue.takeBack(turns));
  const stop = async () => {
    await returnWords(queue.turns); // or the next one would begin at once
    chat.stop();
  };
  const actions = useTurnActions(id, setFailure);
  const compare = async (message: string, files: File[], choices: [ModelChoice, ModelChoice]) => {
    const origin = { session: id, at: chat.view.seq };
    const address = await startComparison(origin, { message, attachments: [] }, files, choices);
    forgetDraft(id);
    navigate(address);
  };

  return (
    <section className={css.conversation} aria-label={t("chat.conversation")}>
      <ConversationHeader
        id={id}
        chat={chat}
        openList={openList}
        isFinding={isFinding}
        toggleFind={() => setIsFinding(!isFinding)}
      />
      {isFinding && id && <FindBar id={id} anchor={anchor} words={words} close={() => setIsFinding(false)} />}
      <Log chat={chat} session={id} anchor={anchor} words={words} actions={actions}>
        {!id && <ChatWelcome />}
        {commands.answer && <CommandAnswerCard answer={commands.answer} close={commands.close} />}
        <ErrorMessage error={chat.error} />
        <ErrorMessage error={failure} />
        <QueuedMessages turns={queue.turns} takeBack={(turn) => void returnWords([turn])} />
      </Log>
      {driver && (
        <p className={css.elsewhere} role="status">
          {t("chat.driver.elsewhere", { who: getSourceLabel(driver) })}{" "}
          <button className="button" onClick={() => void chat.takeOver().catch(setFailure)}>
            {t("chat.takeover")}
          </button>
        </p>
      )}
      <Composer
        key={id}
        id={id}
        session={chat.session}
        isBusy={chat.running !== null}
        isElsewhere={driver !== null}
        commands={commands}
        send={send}
        compare={compare}
        returned={returned}
        stop={() => void stop()}
      />
    </section>
  );
}
