// How one event changes a turn. The turn and its list of parts are the caller's own copies; a part is replaced, never changed.
import type { ProgressData, ToolDetail } from "@/api/schema";
import type { Message } from "@/api/types";
import type { ApprovalQuestion, ChatEvent, Task } from "@/chat/chatEvents";
import type { ToolCallView, TurnView } from "@/chat/chatView";

export function applyMessage(turn: TurnView, message: Message): void {
  if (message.role === "user" && !turn.userMessage) {
    turn.userMessage = message;
    turn.isUndone = !message.active && !message.compacted;
  } else if (message.role === "assistant") {
    const reasoning = message.reasoning_content || message.reasoning;
    if (reasoning) applyReasoning(turn, message, reasoning);
    if (message.content?.trim()) applyText(turn, message);
    turn.isStreaming = false;
    for (const call of message.tool_calls ?? []) {
      const view = copyToolCall(turn, call.id, call.name);
      Object.assign(view, {
        name: call.name,
        arguments: call.arguments,
        seq: message.seq,
        isSummarised: message.compacted,
      });
    }
    if (!turn.status && !message.turn_id) turn.status = "completed";
    turn.at = message.timestamp ?? turn.at;
  } else if (message.role === "tool") {
    const toolCall = copyToolCall(turn, message.tool_call_id ?? message.id, message.tool_name ?? "");
    toolCall.result = message.content;
    toolCall.resultSeq = message.seq;
    toolCall.seq ||= message.seq;
    if (toolCall.status === "running" || toolCall.status === "waiting") toolCall.status = "completed";
  }
}

/** The stored thoughts stand before their text, in the place of those that were streamed. */
function applyReasoning(turn: TurnView, message: Message, text: string): void {
  const part = { kind: "reasoning" as const, seq: message.seq, isSummarised: message.compacted, text };
  const streamed = turn.isStreaming ? turn.parts.findLastIndex((other) => other.kind === "text") : -1;
  if (streamed < 0) turn.parts.push(part);
  else if (turn.parts[streamed - 1]?.kind === "reasoning") turn.parts[streamed - 1] = part;
  else turn.parts.splice(streamed, 0, part);
  turn.reasoning = "";
}

/** The stored message replaces the chunks it was streamed in. */
function applyText(turn: TurnView, message: Message): void {
  const part = {
    kind: "text" as const,
    seq: message.seq,
    isSummarised: message.compacted,
    text: message.content ?? "",
  };
  const last = turn.parts.findLastIndex((other) => other.kind === "text");
  if (turn.isStreaming && last >= 0) turn.parts[last] = part;
  else turn.parts.push(part);
}

export function applyEvent(turn: TurnView, event: ChatEvent): void {
  if (event.name === "metadata") {
    Object.assign(turn, { runtime: event.runtime, model: event.model, stage: "prepare", status: "" });
  } else if (event.name === "chunk") {
    const last = turn.parts.at(-1);
    const isMore = turn.isStreaming && last?.kind === "text";
    if (!isMore && turn.reasoning) {
      turn.parts.push({ kind: "reasoning", seq: event.seq, isSummarised: false, text: turn.reasoning });
      turn.reasoning = "";
    }
    const text = isMore ? last.text + event.text : event.text;
    const part = { kind: "text" as const, seq: isMore ? last.seq : event.seq, isSummarised: false, text };
    if (isMore) turn.parts[turn.parts.length - 1] = part;
    else turn.parts.push(part);
    turn.isStreaming = true;
    turn.stage = "writing";
    turn.retry = null;
  } else if (event.name === "error") {
    turn.error = { code: event.code, message: event.message, hint: event.hint, retryable: event.retryable };
  } else if (event.name === "done") {
    Object.assign(turn, { status: event.status, usage: event.usage, stage: "", question: null, retry: null });
    turn.at = event.at ?? turn.at;
  } else if (event.name === "progress") {
    applyProgress(turn, event);
  }
}

function applyProgress(turn: TurnView, { stage, detail }: ProgressData): void {
  if (stage === "queued" && detail.queued) return; // another request waits for this turn, which itself goes on
  turn.stage = stage;
  if (stage !== "approval") turn.retry = null;
  if (stage === "queued") {
    if (detail.attempt)
      turn.retry = { reason: detail.reason || detail.because || "", attempt: detail.attempt, of: detail.of ?? 0 };
  } else if (stage === "thinking") turn.reasoning = (turn.reasoning + (detail.text ?? "")).slice(-20_000);
  else if (stage === "task" && detail.tasks) turn.tasks = detail.tasks as Task[];
  else if (stage === "memory") addContext(turn, detail.kind ?? "", detail.title ?? "", detail.reason ?? "");
  else if (stage === "template") addContext(turn, "template", detail.name ?? "", detail.because ?? "");
  else if (stage === "approval") {
    const isAsked = detail.status === "asked";
    turn.question = isAsked ? (detail as ApprovalQuestion) : null;
    markQuestioned(turn, isAsked ? "waiting" : detail.choice === "deny" ? "denied" : "running");
  } else if (stage === "running" && detail.steer) turn.steers = [...turn.steers, detail.steer];
  else if (stage === "running" && detail.status === "budget") turn.warnings = [...turn.warnings, detail.line ?? ""];
  else if (stage === "tool") applyToolDetail(turn, detail);
}

function addContext(turn: TurnView, kind: string, title: string, reason: string): void {
  turn.contextBlocks = [...turn.contextBlocks, { kind, title, reason }];
}

/** The tool call that waits for a person: the newest one without a result. */
function markQuestioned(turn: TurnView, status: ToolCallView["status"]): void {
  const index = turn.parts.findLastIndex((part) => part.kind === "tool" && part.result === null);
  const call = turn.parts[index];
  if (call?.kind === "tool") turn.parts[index] = { ...call, status };
}

function applyToolDetail(turn: TurnView, detail: ToolDetail): void {
  const toolCall = detail.call_id ? copyToolCall(turn, detail.call_id, detail.tool ?? "") : copyLastToolCall(turn);
  if (!toolCall) return;
  if (detail.line !== undefined) toolCall.lines = [...toolCall.lines, detail.line].slice(-200);
  if (detail.preview) toolCall.preview = detail.preview;
  if (detail.error) toolCall.error = detail.error;
  if (detail.duration !== undefined) toolCall.seconds = detail.duration;
  if (toolCall.status === "denied") return;
  if (detail.status === "completed" || detail.status === "failed") toolCall.status = detail.status;
}

/** A copy of one tool call in its turn, added if it is new, for the caller to change. */
function copyToolCall(turn: TurnView, id: string, name: string): ToolCallView {
  const index = turn.parts.findIndex((part) => part.kind === "tool" && part.id === id);
  if (index >= 0) return (turn.parts[index] = { ...(turn.parts[index] as ToolCallView) });
  const added: ToolCallView = {
    kind: "tool",
    seq: 0,
    resultSeq: 0,
    isSummarised: false,
    id,
    name,
    preview: "",
    lines: [],
    status: "running",
    seconds: null,
    result: null,
    error: "",
  };
  turn.parts.push(added);
  turn.isStreaming = false;
  return added;
}

function copyLastToolCall(turn: TurnView): ToolCallView | null {
  const index = turn.parts.findLastIndex((part) => part.kind === "tool");
  if (index < 0) return null;
  return (turn.parts[index] = { ...(turn.parts[index] as ToolCallView) });
}
