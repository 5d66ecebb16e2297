// What a conversation looks like, made of its events alone. Pure: the same events give the same view, however they came.
import type { ProgressData, ToolDetail } from "@/api/progress";
import type { Message } from "@/api/types";
import type { ChatEvent, Question, Task } from "@/chat/events";

export interface ToolView {
  kind: "tool";
  id: string;
  name: string;
  arguments?: unknown;
  preview: string;
  lines: string[];
  status: "running" | "completed" | "failed";
  seconds: number | null;
  result: string | null;
  error: string;
}

export type Part = { kind: "text"; text: string } | ToolView;

export interface TurnView {
  key: string;
  said: Message | null;
  parts: Part[];
  streamed: boolean; // the last text came in pieces, and its message has not come yet
  thinking: string;
  stage: string;
  tasks: Task[];
  blocks: Array<{ kind: string; title: string; reason: string }>;
  question: Question | null;
  notes: string[];
  error: { code: string; message: string; hint: string } | null;
  status: string; // "" while it runs
  runtime: string;
  model: string;
  usage: Record<string, unknown>;
  hidden: boolean;
}

export interface ChatView {
  turns: TurnView[];
  seq: number;
  driver: string | null;
}

export const EMPTY: ChatView = { turns: [], seq: 0, driver: null };

const newTurn = (key: string): TurnView => ({
  key, said: null, parts: [], streamed: false, thinking: "", stage: "", tasks: [], blocks: [], question: null, notes: [], error: null, status: "", runtime: "",
  model: "", usage: {}, hidden: false,
});

/** The view after some more events. Turns that did not change stay the same objects. */
export function advance(view: ChatView, events: ChatEvent[]): ChatView {
  const turns = [...view.turns];
  const touched = new Set<number>();
  let { seq, driver } = view;
  const turnOf = (key: string | undefined, make: boolean): TurnView | null => {
    let index = key === undefined ? turns.length - 1 : turns.findLastIndex((one) => one.key === key);
    if (index < 0 && make) index = turns.push(newTurn(key ?? `m${seq}`)) - 1;
    if (index < 0) return null;
    if (!touched.has(index)) {
      touched.add(index);
      turns[index] = { ...turns[index]!, parts: [...turns[index]!.parts] };
    }
    return turns[index]!;
  };
  for (const event of events) {
    if (event.seq <= seq) continue;
    seq = event.seq;
    if (event.name === "message") {
      if (event.message.role === "user" && !event.turn_id) turns.push(newTurn(`m${seq}`));
      addMessage(turnOf(event.turn_id ?? (event.message.role === "user" ? `m${seq}` : undefined), true)!, event.message);
    } else if (event.name === "progress" && event.stage === "handoff") {
      driver = event.detail.to || driver;
    } else {
      const turn = turnOf(event.turn_id, event.name === "metadata");
      if (turn) addEvent(turn, event);
    }
  }
  return { turns, seq, driver };
}

function addMessage(turn: TurnView, message: Message): void {
  if (message.role === "user" && !turn.said) {
    turn.said = message;
    turn.hidden = !message.active && !message.compacted;
  } else if (message.role === "assistant") {
    if (message.content?.trim()) addWhole(turn, message.content);
    turn.streamed = false;
    for (const call of message.tool_calls ?? []) Object.assign(tool(turn, call.id, call.name), { name: call.name, arguments: call.arguments });
    if (!turn.status && !message.turn_id) turn.status = "completed";
  } else if (message.role === "tool") {
    const found = tool(turn, message.tool_call_id ?? message.id, message.tool_name ?? "");
    found.result = message.content;
    if (found.status === "running") found.status = "completed";
  }
}

/** The kept message has the last word over the pieces it came in. */
function addWhole(turn: TurnView, text: string): void {
  const last = turn.parts.findLastIndex((one) => one.kind === "text");
  if (turn.streamed && last >= 0) turn.parts[last] = { kind: "text", text };
  else turn.parts.push({ kind: "text", text });
}

function addEvent(turn: TurnView, event: ChatEvent): void {
  if (event.name === "metadata") {
    Object.assign(turn, { runtime: event.runtime, model: event.model, stage: "prepare", status: "" });
  } else if (event.name === "chunk") {
    const last = turn.parts.at(-1);
    if (turn.streamed && last?.kind === "text") turn.parts[turn.parts.length - 1] = { kind: "text", text: last.text + event.text };
    else turn.parts.push({ kind: "text", text: event.text });
    turn.streamed = true;
    turn.stage = "writing";
  } else if (event.name === "error") {
    turn.error = { code: event.code, message: event.message, hint: event.hint };
  } else if (event.name === "done") {
    Object.assign(turn, { status: event.status, usage: event.usage, stage: "", question: null, thinking: "" });
  } else if (event.name === "progress") {
    addProgress(turn, event);
  }
}

function addProgress(turn: TurnView, { stage, detail }: ProgressData): void {
  if (stage === "queued" && detail.queued) return; // another request waits for this turn; that changes nothing here
  turn.stage = stage;
  if (stage === "thinking") turn.thinking = (turn.thinking + (detail.text ?? "")).slice(-4000);
  else if (stage === "task" && detail.tasks) turn.tasks = detail.tasks as Task[];
  else if (stage === "memory") turn.blocks = [...turn.blocks, { kind: detail.kind ?? "", title: detail.title ?? "", reason: detail.reason ?? "" }];
  else if (stage === "template") turn.blocks = [...turn.blocks, { kind: "template", title: detail.name ?? "", reason: detail.because ?? "" }];
  else if (stage === "approval") turn.question = detail.status === "asked" ? (detail as Question) : null;
  else if (stage === "running" && detail.steer) turn.notes = [...turn.notes, detail.steer];
  else if (stage === "tool") addTool(turn, detail);
}

function addTool(turn: TurnView, detail: ToolDetail): void {
  const found = detail.call_id ? tool(turn, detail.call_id, detail.tool ?? "") : lastTool(turn);
  if (!found) return;
  if (detail.line !== undefined) found.lines = [...found.lines, detail.line].slice(-200);
  if (detail.preview) found.preview = detail.preview;
  if (detail.error) found.error = detail.error;
  if (detail.duration !== undefined) found.seconds = detail.duration;
  if (detail.status === "completed" || detail.status === "failed") found.status = detail.status;
}

function tool(turn: TurnView, id: string, name: string): ToolView {
  const index = turn.parts.findIndex((one) => one.kind === "tool" && one.id === id);
  const copy: ToolView = index >= 0 ? { ...(turn.parts[index] as ToolView) } : { kind: "tool", id, name, preview: "", lines: [], status: "running", seconds: null, result: null, error: "" };
  if (index >= 0) turn.parts[index] = copy;
  else {
    turn.parts.push(copy);
    turn.streamed = false;
  }
  return copy;
}

function lastTool(turn: TurnView): ToolView | null {
  const index = turn.parts.findLastIndex((one) => one.kind === "tool");
  if (index < 0) return null;
  return (turn.parts[index] = { ...(turn.parts[index] as ToolView) });
}

export const ofMessages = (messages: Message[]): ChatView =>
  advance(EMPTY, messages.map((message) => ({ name: "message", seq: message.seq, message, turn_id: message.turn_id })));

export const runningTurn = (view: ChatView): TurnView | null => view.turns.findLast((one) => one.status === "" && one.runtime !== "") ?? null;
