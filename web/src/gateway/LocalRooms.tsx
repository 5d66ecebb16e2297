import { useEffect, useRef, useState } from "react";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { Markdown } from "@/components/Markdown";
import { ApprovalButtons } from "@/gateway/ApprovalButtons";
import { gatewayApi, type RoomMessage } from "@/gateway/gatewayApi";
import { useMessages } from "@/gateway/messages";
import { useRoomMessages } from "@/gateway/useRoomMessages";
import { formatRelativeTime } from "@/i18n";
import { navigate } from "@/router";
import css from "./gateway.module.css";

const HOME_ROOM = "home";

/** The rooms of the built-in platform `local`: a chat with threads where a hand-off can be tried without any account. */
export function LocalRooms({ room }: { room: string }) {
  const { t } = useMessages();
  const current = room || HOME_ROOM;
  const [names, setNames] = useState<string[]>([HOME_ROOM]);
  const [newRoom, setNewRoom] = useState("");
  const [sender, setSender] = useState("");
  const { messages, error } = useRoomMessages(current);
  const hasMessages = messages.length > 0;
  useEffect(() => {
    const controller = new AbortController();
    gatewayApi.listRooms(controller.signal).then(
      (rooms) => setNames([...new Set([HOME_ROOM, current, ...rooms])].sort()),
      () => undefined,
    );
    return () => controller.abort();
  }, [current, hasMessages]);
  const openRoom = (name: string) => navigate(`/gateway/${encodeURIComponent(name)}`);
  return (
    <section className={`card ${css.localRooms}`} aria-label={t("room.title")}>
      <div className="row">
        <h2 className={css.roomTitle}>{t("room.title")}</h2>
        <label className="dim">
          {t("room.sender")}{" "}
          <input
            className="filter"
            placeholder={t("room.me")}
            value={sender}
            maxLength={100}
            onChange={(event) => setSender(event.target.value)}
          />
        </label>
      </div>
      <p className="dim">{t("room.about")}</p>
      <div className="row" role="group" aria-label={t("room.rooms")}>
        {names.map((name) => (
          <button key={name} className="button" aria-pressed={name === current} onClick={() => openRoom(name)}>
            {name}
          </button>
        ))}
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault();
            if (newRoom.trim()) {
              openRoom(newRoom.trim());
              setNewRoom("");
            }
          }}
        >
          <input
            className="filter"
            placeholder={t("room.new")}
            aria-label={t("room.new")}
            value={newRoom}
            maxLength={100}
            onChange={(event) => setNewRoom(event.target.value)}
          />
        </form>
      </div>
      <ErrorMessage error={error} />
      <MessageLog messages={messages} room={current} sender={sender.trim()} />
      <MessageForm room={current} thread={null} sender={sender.trim()} label={t("room.write", { room: current })} />
    </section>
  );
}

function MessageLog({ messages, room, sender }: { messages: RoomMessage[]; room: string; sender: string }) {
  const { t } = useMessages();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [messages]);
  return (
    <div className={css.roomLog} ref={box} tabIndex={0} role="log" aria-label={room}>
      {!messages.length && <p className="empty-state">{t("room.empty")}</p>}
      {messages
        .filter((message) => !message.thread)
        .map((message) =>
          message.opens ? (
            <Thread key={message.n} opening={message} messages={messages} sender={sender} />
          ) : (
            <MessageRow key={message.n} message={message} messages={messages} sender={sender} />
          ),
        )}
    </div>
  );
}

function Thread({ opening, messages, sender }: { opening: RoomMessage; messages: RoomMessage[]; sender: string }) {
  const { t } = useMessages();
  const id = `t${opening.n}`;
  return (
    <details className={css.thread} open data-thread={id}>
      <summary>
        <Icon name="list" size={15} /> <strong>{opening.text}</strong> <span className="dim mono">{id}</span>
      </summary>
      {messages
        .filter((message) => message.thread === id)
        .map((message) => (
          <MessageRow key={message.n} message={message} messages={messages} sender={sender} />
        ))}
      <MessageForm room={opening.room} thread={id} sender={sender} label={t("room.reply", { thread: opening.text })} />
    </details>
  );
}

function MessageRow({ message, messages, sender }: { message: RoomMessage; messages: RoomMessage[]; sender: string }) {
  const { t, language } = useMessages();
  const who = message.ours ? "Sojourn" : message.by === "owner" ? t("room.me") : message.name || message.by;
  if (message.pressed)
    return (
      <p className={`dim ${css.buttonPress}`} data-message={message.n}>
        <Icon name="check" size={14} /> <strong>{who}</strong> {t("room.pressed", { label: message.text })}
      </p>
    );
  return (
    <div className={message.ours ? `${css.roomMessage} ${css.ours}` : css.roomMessage} data-message={message.n}>
      <p className="dim">
        <strong>{who}</strong> {formatRelativeTime(message.at, language)}
      </p>
      {message.ours ? <Markdown text={message.text} /> : <p className={css.plain}>{message.text}</p>}
      {message.buttons.length > 0 && (
        <ApprovalButtons
          message={message}
          presses={messages.filter((other) => other.answers === message.n)}
          sender={sender}
        />
      )}
    </div>
  );
}

function MessageForm({
  room,
  thread,
  sender,
  label,
}: {
  room: string;
  thread: string | null;
  sender: string;
  label: string;
}) {
  const { t } = useMessages();
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>(null);
  const submit = () => {
    if (!text.trim()) return;
    setError(null);
    gatewayApi.postMessage(room, text, thread, sender).then(() => setText(""), setError); // a refused message stays in the box
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <ErrorMessage error={error} />
      <div className="row">
        <input
          className="grow"
          placeholder={label}
          aria-label={label}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button className="button" disabled={!text.trim()} aria-label={t("chat.send")}>
          <Icon name="send" size={16} />
        </button>
      </div>
    </form>
  );
}
