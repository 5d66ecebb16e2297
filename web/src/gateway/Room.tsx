import { useEffect, useRef, useState } from "react";
import { Icon } from "@/components/Icon";
import { Markdown } from "@/components/Markdown";
import { Trouble } from "@/components/Trouble";
import { Buttons } from "@/gateway/Buttons";
import { gatewayApi, type Note } from "@/gateway/gatewayApi";
import { iso } from "@/gateway/Lines";
import { useRoom } from "@/gateway/useRoom";
import { ago, useWords } from "@/i18n";
import { go } from "@/router";

const HOME = "home";

/** A chat of our own: rooms with threads, where a hand-off can be tried without any account. */
export function Rooms({ room }: { room: string }) {
  const { t } = useWords();
  const here = room || HOME;
  const [names, setNames] = useState<string[]>([HOME]);
  const [fresh, setFresh] = useState("");
  const [sender, setSender] = useState("");
  const { notes, error } = useRoom(here);
  const many = notes.length > 0;
  useEffect(() => {
    const leaving = new AbortController();
    gatewayApi.rooms(leaving.signal).then((found) => setNames([...new Set([HOME, here, ...found])].sort()), () => undefined);
    return () => leaving.abort();
  }, [here, many]);
  const enter = (name: string) => go(`/gateway/${encodeURIComponent(name)}`);
  return (
    <section className="card rooms" aria-label={t("room.title")}>
      <div className="row">
        <h2 className="room-title">{t("room.title")}</h2>
        <label className="dim">{t("room.as")} <input className="filter" placeholder={t("room.me")} value={sender} maxLength={100} onChange={(event) => setSender(event.target.value)} /></label>
      </div>
      <p className="dim">{t("room.about")}</p>
      <div className="row" role="group" aria-label={t("room.rooms")}>
        {names.map((one) => <button key={one} className="button" aria-pressed={one === here} onClick={() => enter(one)}>{one}</button>)}
        <form className="row" onSubmit={(event) => { event.preventDefault(); if (fresh.trim()) { enter(fresh.trim()); setFresh(""); } }}>
          <input className="filter" placeholder={t("room.new")} aria-label={t("room.new")} value={fresh} maxLength={100} onChange={(event) => setFresh(event.target.value)} />
        </form>
      </div>
      <Trouble error={error} />
      <Said notes={notes} room={here} sender={sender.trim()} />
      <Say room={here} thread={null} sender={sender.trim()} label={t("room.say", { room: here })} />
    </section>
  );
}

function Said({ notes, room, sender }: { notes: Note[]; room: string; sender: string }) {
  const { t } = useWords();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [notes]);
  return (
    <div className="room" ref={box} tabIndex={0} role="log" aria-label={room}>
      {!notes.length && <p className="empty">{t("room.silent")}</p>}
      {notes.filter((one) => !one.thread).map((one) => (one.opens ? <Thread key={one.n} opening={one} notes={notes} sender={sender} /> : <Words key={one.n} note={one} notes={notes} sender={sender} />))}
    </div>
  );
}

function Thread({ opening, notes, sender }: { opening: Note; notes: Note[]; sender: string }) {
  const { t } = useWords();
  const id = `t${opening.n}`;
  return (
    <details className="thread" open data-thread={id}>
      <summary><Icon name="list" size={15} /> <strong>{opening.text}</strong> <span className="dim mono">{id}</span></summary>
      {notes.filter((one) => one.thread === id).map((one) => <Words key={one.n} note={one} notes={notes} sender={sender} />)}
      <Say room={opening.room} thread={id} sender={sender} label={t("room.reply", { thread: opening.text })} />
    </details>
  );
}

function Words({ note, notes, sender }: { note: Note; notes: Note[]; sender: string }) {
  const { t, language } = useWords();
  const who = note.ours ? "Sojourn" : note.by === "owner" ? t("room.me") : note.name || note.by;
  if (note.pressed) return <p className="dim pressed" data-note={note.n}><Icon name="check" size={14} /> <strong>{who}</strong> {t("room.pressed", { label: note.text })}</p>;
  return (
    <div className={note.ours ? "note-row ours" : "note-row"} data-note={note.n}>
      <p className="dim"><strong>{who}</strong> {ago(iso(note.at), language)}</p>
      {note.ours ? <Markdown text={note.text} /> : <p className="plain">{note.text}</p>}
      {note.buttons.length > 0 && <Buttons note={note} presses={notes.filter((one) => one.answers === note.n)} sender={sender} />}
    </div>
  );
}

function Say({ room, thread, sender, label }: { room: string; thread: string | null; sender: string; label: string }) {
  const { t } = useWords();
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>(null);
  const say = () => {
    if (!text.trim()) return;
    setError(null);
    gatewayApi.say(room, text, thread, sender).then(() => setText(""), setError); // refused words stay in the box
  };
  return (
    <form onSubmit={(event) => { event.preventDefault(); say(); }}>
      <Trouble error={error} />
      <div className="row"><input className="grow" placeholder={label} aria-label={label} value={text} onChange={(event) => setText(event.target.value)} /><button className="button" disabled={!text.trim()} aria-label={t("chat.send")}><Icon name="send" size={16} /></button></div>
    </form>
  );
}
