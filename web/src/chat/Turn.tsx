import { memo } from "react";
import { conversationApi } from "@/chat/conversationApi";
import { Plan } from "@/chat/Plan";
import { Tool } from "@/chat/Tool";
import type { TurnView } from "@/chat/view";
import { Markdown } from "@/components/Markdown";
import { Icon } from "@/components/Icon";
import { count, useWords, type Key } from "@/i18n";

/** One request and everything that came of it. */
export const Turn = memo(function Turn({ turn, session, live, approve }: { turn: TurnView; session: string; live: boolean; approve?: (question: string, choice: string) => void }) {
  if (turn.hidden) return null;
  const busy = live && turn.status === "";
  return (
    <article className="turn" data-turn={turn.key}>
      {turn.said && <Said turn={turn} session={session} />}
      {turn.blocks.length > 0 && <Recalled turn={turn} />}
      {turn.tasks.length > 0 && <Plan tasks={turn.tasks} />}
      {turn.parts.map((part, index) => part.kind === "text" ? <div key={index} className="answer"><Markdown text={part.text} /></div> : <Tool key={part.id} tool={part} live={busy} />)}
      {turn.notes.map((note, index) => <p key={index} className="note"><Icon name="arrow" size={14} /> {note}</p>)}
      {busy && <Thinking turn={turn} />}
      {busy && turn.question && approve && <Asking turn={turn} approve={approve} />}
      {turn.error && <Failed turn={turn} />}
      {turn.status && turn.status !== "completed" && !turn.error && <EndedEarly status={turn.status} />}
      {turn.status && <Used turn={turn} />}
    </article>
  );
});

function Said({ turn, session }: { turn: TurnView; session: string }) {
  const { t } = useWords();
  if (turn.said!.extra?.internal) return <details className="recalled announced"><summary><Icon name="wheel" size={15} /> {t("chat.announced")}</summary><p>{turn.said!.content}</p></details>;
  const parts = (turn.said!.parts ?? []).filter((one) => one["type"] !== "text" && typeof one["hash"] === "string");
  return (
    <div className="said">
      <div className="bubble">
        {turn.said!.content}
        {parts.map((one, index) => <Attachment key={index} part={one} session={session} />)}
      </div>
    </div>
  );
}

function Attachment({ part, session }: { part: Record<string, unknown>; session: string }) {
  const name = String(part["name"] || part["hash"]);
  const address = conversationApi.picture(session, String(part["hash"]));
  if (/^image\/(png|jpeg|gif|webp)$/.test(String(part["media_type"]))) return <a href={address} target="_blank" rel="noopener"><img className="attached" src={address} alt={name} /></a>;
  return <a className="pill" href={address} download><Icon name="clip" size={13} /> {name}</a>;
}

function Recalled({ turn }: { turn: TurnView }) {
  const { t } = useWords();
  return (
    <details className="recalled">
      <summary><Icon name="bulb" size={15} /> {t("chat.recalled", { n: turn.blocks.length })}</summary>
      <ul>{turn.blocks.map((one, index) => <li key={index}><strong>{one.title}</strong> <span className="pill">{one.kind}</span> <span className="dim">{one.reason}</span></li>)}</ul>
    </details>
  );
}

const STAGES: Record<string, Key> = {
  prepare: "chat.stage.prepare", queued: "chat.stage.queued", running: "chat.stage.running", thinking: "chat.stage.thinking", tool: "chat.stage.tool", task: "chat.stage.running",
  approval: "chat.stage.approval", compaction: "chat.stage.compaction", memory: "chat.stage.prepare", template: "chat.stage.prepare", writing: "chat.stage.writing",
};

function Thinking({ turn }: { turn: TurnView }) {
  const { t } = useWords();
  return (
    <div className="thinking" role="status">
      <span className="dots" aria-hidden="true"><i /><i /><i /></span> {t(STAGES[turn.stage] ?? "chat.stage.running")}
      {turn.thinking && <details><summary>{t("chat.thoughts")}</summary><p>{turn.thinking}</p></details>}
    </div>
  );
}

function Asking({ turn, approve }: { turn: TurnView; approve: (question: string, choice: string) => void }) {
  const { t } = useWords();
  const asked = turn.question!;
  const words: Record<string, Key> = { once: "chat.choice.once", session: "chat.choice.session", always: "chat.choice.always", deny: "chat.choice.deny" };
  return (
    <div className={asked.dangerous ? "asking dangerous" : "asking"} role="alertdialog" aria-label={t("chat.asking")}>
      <p><strong>{asked.text}</strong></p>
      {typeof asked.detail === "string" && asked.detail && <pre tabIndex={0}>{asked.detail}</pre>}
      <div className="row">
        {asked.choices.map((choice) => (
          <button key={choice} className={choice === "deny" ? "button danger" : "button primary"} onClick={() => approve(asked.question, choice)}>{words[choice] ? t(words[choice]) : choice}</button>
        ))}
      </div>
    </div>
  );
}

function Failed({ turn }: { turn: TurnView }) {
  const { code, message, hint } = turn.error!;
  return (
    <div className="card problem" role="alert">
      <p><strong>{message}</strong> <span className="dim mono">{code}</span></p>
      {hint && <p className="dim">{hint}</p>}
    </div>
  );
}

function EndedEarly({ status }: { status: string }) {
  const { t } = useWords();
  return <p className="note">{status === "cancelled" ? t("chat.cancelled") : status === "interrupted" ? t("chat.interrupted") : t("chat.failed")}</p>;
}

function Used({ turn }: { turn: TurnView }) {
  const { language } = useWords();
  const { input_tokens: input, output_tokens: output, cost_usd: cost, seconds } = turn.usage as Record<string, unknown>;
  const told = [
    turn.model || turn.runtime,
    typeof seconds === "number" ? `${seconds.toFixed(1)} s` : "",
    typeof input === "number" && input > 0 ? `${count(input, language)} → ${count(Number(output ?? 0), language)} tokens` : "",
    typeof cost === "number" ? `$${cost.toFixed(4)}` : "",
  ].filter(Boolean);
  return told.length ? <p className="used">{told.join(" · ")}</p> : null;
}
