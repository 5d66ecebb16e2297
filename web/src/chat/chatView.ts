// The view model of a conversation, reduced from its events. Pure: the same events give the same view, in whatever batches they arrive.
import type { ProgressData, ToolDetail } from "@/api/schema";
import type { Message } from "@/api/types";
import type { ApprovalQuestion, ChatEvent, Task } from "@/chat/chatEvents";

export interface ToolCallView {
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

type Part = { kind: "text"; text: string } | ToolCallView;

export interface TurnView {
  key: string;
  userMessage: Message | null;
  parts: Part[];
  isStreaming: boolean; // the last text came in chunks, and its stored message has not arrived yet
  reasoning: string;
  stage: string;
  tasks: Task[];
  contextBlocks: Array<{ kind: string; title: string; reason: string }>;
  question: ApprovalQuestion | null;
  steers: string[];
  error: { code: string; message: string; hint: string } | null;
  status: string; // "" while it runs
  runtime: string;
  model: string;
  usage: Record<string, unknown>;
  isUndone: boolean;
}

export interface ChatView {
  turns: TurnView[];
  seq: number;
  driver: string | null;
}

export const EMPTY_VIEW: ChatView = { turns: [], seq: 0, driver: null };

const buildTurn = (key: string): TurnView => ({
  key,
  userMessage: null,
  parts: [],
  isStreaming: false,
  reasoning: "",
  stage: "",
  tasks: [],
  contextBlocks: [],
  question: null,
  steers: [],
  error: null,
  status: "",
  runtime: "",
  model: "",
  usage: {},
  isUndone: false,
});

/** The view after some more events. Unchanged turns keep their identity, so memoised components skip them. */
export function applyEvents(view: ChatView, events: ChatEvent[]): ChatView {
  const turns = [...view.turns];
  const copied = new Set<number>();
  let { seq, driver } = view;
  const findTurn = (key: string | undefined, create: boolean): TurnView | null => {
    let index = key === undefined ? turns.length - 1 : turns.findLastIndex((turn) => turn.key === key);
    if (index < 0 && create) index = turns.push(buildTurn(key ?? `m${seq}`)) - 1;
    if (index < 0) return null;
    if (!copied.has(index)) {
      copied.add(index);
      turns[index] = { ...turns[index]!, parts: [...turns[index]!.parts] };
    }
    return turns[index]!;
  };
  for (const event of events) {
    if (event.seq <= seq) continue;
    seq = event.seq;
    if (event.name === "message") {
      if (event.message.role === "user" && !event.turn_id) turns.push(buildTurn(`m${seq}`));
      applyMessage(
        findTurn(event.turn_id ?? (event.message.role === "user" ? `m${seq}` : undefined), true)!,
        event.message,
      );
    } else if (event.name === "progress" && event.stage === "handoff") {
      driver = event.detail.to || driver;
    } else {
      const turn = findTurn(event.turn_id, event.name === "metadata");
      if (turn) applyEvent(turn, event);
    }
  }
  return { turns, seq, driver };
}

function applyMessage(turn: TurnView, message: Message): void {
  if (message.role === "user" && !turn.userMessage) {
    turn.userMessage = message;
    turn.isUndone = !message.active && !message.compacted;
  } else if (message.role === "assistant") {
    if (message.content?.trim()) applyText(turn, message.content);
    turn.isStreaming = false;
    for (const call of message.tool_calls ?? [])
      Object.assign(copyToolCall(turn, call.id, call.name), { name: call.name, arguments: call.arguments });
    if (!turn.status && !message.turn_id) turn.status = "completed";
  } else if (message.role === "tool") {
    const toolCall = copyToolCall(turn, message.tool_call_id ?? message.id, message.tool_name ?? "");
    toolCall.result = message.content;
    if (toolCall.status === "running") toolCall.status = "completed";
  }
}

/** The stored message replaces the chunks it was streamed in. */
function applyText(turn: TurnView, text: string): void {
  const last = turn.parts.findLastIndex((part) => part.kind === "text");
  if (turn.isStreaming && last >= 0) turn.parts[last] = { kind: "text", text };
  else turn.parts.push({ kind: "text", text });
}

function applyEvent(turn: TurnView, event: ChatEvent): void {
  if (event.name === "metadata") {
    Object.assign(turn, { runtime: event.runtime, model: event.model, stage: "prepare", status: "" });
  } else if (event.name === "chunk") {
    const last = turn.parts.at(-1);
    if (turn.isStreaming && last?.kind === "text")
      turn.parts[turn.parts.length - 1] = { kind: "text", text: last.text + event.text };
    else turn.parts.push({ kind: "text", text: event.text });
    turn.isStreaming = true;
    turn.stage = "writing";
  } else if (event.name === "error") {
    turn.error = { code: event.code, message: event.message, hint: event.hint };
  } else if (event.name === "done") {
    Object.assign(turn, { status: event.status, usage: event.usage, stage: "", question: null, reasoning: "" });
  } else if (event.name === "progress") {
    applyProgress(turn, event);
  }
}

function applyProgress(turn: TurnView, { stage, detail }: ProgressData): void {
  if (stage === "queued" && detail.queued) return; // another request waits for this turn, which itself goes on
  turn.stage = stage;
  if (stage === "thinking") turn.reasoning = (turn.reasoning + (detail.text ?? "")).slice(-4000);
  else if (stage === "task" && detail.tasks) turn.tasks = detail.tasks as Task[];
  else if (stage === "memory")
    turn.contextBlocks = [
      ...turn.contextBlocks,
      { kind: detail.kind ?? "", title: detail.title ?? "", reason: detail.reason ?? "" },
    ];
  else if (stage === "template")
    turn.contextBlocks = [
      ...turn.contextBlocks,
      { kind: "template", title: detail.name ?? "", reason: detail.because ?? "" },
    ];
  else if (stage === "approval") turn.question = detail.status === "asked" ? (detail as ApprovalQuestion) : null;
  else if (stage === "running" && detail.steer) turn.steers = [...turn.steers, detail.steer];
  else if (stage === "tool") applyToolDetail(turn, detail);
}

function applyToolDetail(turn: TurnView, detail: ToolDetail): void {
  const toolCall = detail.call_id ? copyToolCall(turn, detail.call_id, detail.tool ?? "") : copyLastToolCall(turn);
  if (!toolCall) return;
  if (detail.line !== undefined) toolCall.lines = [...toolCall.lines, detail.line].slice(-200);
  if (detail.preview) toolCall.preview = detail.preview;
  if (detail.error) toolCall.error = detail.error;
  if (detail.duration !== undefined) toolCall.seconds = detail.duration;
  if (detail.status === "completed" || detail.status === "failed") toolCall.status = detail.status;
}

/** A copy of one tool call in its turn, added if it is new, for the caller to change. */
function copyToolCall(turn: TurnView, id: string, name: string): ToolCallView {
  const index = turn.parts.findIndex((part) => part.kind === "tool" && part.id === id);
  const copy: ToolCallView =
    index >= 0
      ? { ...(turn.parts[index] as ToolCallView) }
      : { kind: "tool", id, name, preview: "", lines: [], status: "running", seconds: null, result: null, error: "" };
  if (index >= 0) turn.parts[index] = copy;
  else {
    turn.parts.push(copy);
    turn.isStreaming = false;
  }
  return copy;
}

function copyLastToolCall(turn: TurnView): ToolCallView | null {
  const index = turn.parts.findLastIndex((part) => part.kind === "tool");
  if (index < 0) return null;
  return (turn.parts[index] = { ...(turn.parts[index] as ToolCallView) });
}

export const buildView = (messages: Message[]): ChatView =>
  applyEvents(
    EMPTY_VIEW,
    messages.map((message) => ({ name: "message", seq: message.seq, message, turn_id: message.turn_id ?? undefined })),
  );

export const findRunningTurn = (view: ChatView): TurnView | null =>
  view.turns.findLast((turn) => turn.status === "" && turn.runtime !== "") ?? null;
