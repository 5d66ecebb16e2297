import { useEffect, useRef, useState } from "react";
import { Composer } from "@/chat/Composer";
import { HandOff } from "@/chat/HandOff";
import { conversationApi, type Wish } from "@/chat/conversationApi";
import { newKey } from "@/chat/keys";
import { Turn } from "@/chat/Turn";
import { useChatView } from "@/chat/useChatView";
import { Icon } from "@/components/Icon";
import { Trouble } from "@/components/Trouble";
import { useWords } from "@/i18n";
import { follow, go } from "@/router";

const SHOWN = 60; // turns; older ones on request

export default function ChatPage({ rest }: { rest: string }) {
  const { t } = useWords();
  const chat = useChatView(rest);
  const [more, setMore] = useState(1);
  const begun = useRef("");

  /** A session begins with its first word or first file. */
  const session = async (runtime = "", model = ""): Promise<string> => {
    if (rest) return rest;
    begun.current ||= (await conversationApi.begin(runtime, model)).id;
    return begun.current;
  };
  const send = async (wish: Wish) => {
    if (rest) return chat.say(wish);
    const id = await session(wish.runtime, wish.model);
    await conversationApi.say(id, wish, newKey());
    begun.current = "";
    go(`/chat/${id}`, true);
  };
  const upload = async (file: File) => conversationApi.attach(await session(), file);

  const turns = chat.view.turns;
  const shown = turns.slice(-SHOWN * more);
  const elsewhere = chat.view.driver && chat.view.driver !== "web" ? chat.view.driver : null;
  return (
    <div className="chat">
      <header className="chat-head">
        <h1>{rest ? (chat.session?.title ?? chat.session?.preview ?? "…") : t("chat.new")}</h1>
        {chat.view.driver && <span className="pill" data-driver={chat.view.driver}><Icon name="wheel" size={14} /> {t("chat.driver", { who: chat.view.driver })}</span>}
        {!chat.connected && <span className="pill bad" role="status">{t("chat.reconnecting")}</span>}
        {rest && chat.session && <HandOff key={rest} session={rest} ours={!elsewhere} busy={chat.running !== null} leaving={["pending", "running"].includes(chat.session.handoff_state ?? "")} moved={chat.refresh} />}
        {rest && <a className="button" href={`/sessions/${rest}`} onClick={follow}><Icon name="list" size={16} /> {t("chat.read")}</a>}
        {rest && <a className="button" href="/chat" onClick={follow}><Icon name="plus" size={16} /> {t("chat.new")}</a>}
      </header>
      <Scroller watch={chat.view}>
        {!rest && <Opening />}
        {chat.loading && <p className="dim" role="status">{t("loading")}</p>}
        {turns.length > shown.length && <button className="button" onClick={() => setMore(more + 1)}>{t("chat.earlier")}</button>}
        {shown.map((turn) => <Turn key={turn.key} turn={turn} session={rest} live approve={chat.approve} />)}
        <Trouble error={chat.error} />
      </Scroller>
      {elsewhere && (
        <div className="taken" role="status">
          {t("chat.elsewhere", { who: elsewhere })} <button className="button" onClick={chat.take}>{t("chat.take")}</button>
        </div>
      )}
      <Composer key={rest} busy={chat.running !== null} send={send} stop={chat.stop} upload={upload} />
    </div>
  );
}

function Opening() {
  const { t } = useWords();
  return (
    <div className="opening">
      <img src="/assets/icon.svg" alt="" width="56" height="56" />
      <h2>{t("chat.opening")}</h2>
      <p className="dim">{t("chat.opening.hint")}</p>
    </div>
  );
}

/** Follows the newest words, unless the person scrolled up to read. */
function Scroller({ watch, children }: { watch: unknown; children: React.ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [watch]);
  const scrolled = () => {
    const at = box.current!;
    follows.current = at.scrollHeight - at.scrollTop - at.clientHeight < 60;
  };
  return <div className="chat-body" ref={box} onScroll={scrolled} tabIndex={0} role="log" aria-live="off"><div className="chat-column">{children}</div></div>;
}
