// The view model of a conversation, reduced from its events. Pure: the same events give the same view, in whatever batches they arrive.
import type { Message } from "@/api/types";
import type { ApprovalQuestion, ChatEvent, Task } from "@/chat/chatEvents";
import { applyEvent, applyMessage } from "@/chat/turnEvents";

export interface ToolCallView {
  kind: "tool";
  seq: number;
  resultSeq: number;
  isSummarised: boolean;
  id: string;
  name: string;
  arguments?: unknown;
  preview: string;
  lines: string[];
  status: "running" | "waiting" | "completed" | "failed" | "denied";
  seconds: number | null;
  result: string | null;
  error: string;
}
export interface TextView {
  kind: "text" | "reasoning";
  seq: number;
  isSummarised: boolean;
  text: string;
}
export type Part = TextView | ToolCallView;

export interface TurnView {
  key: string;
  count: number; // events that made it; a turn with more of them has changed
  userMessage: Message | null;
  parts: Part[];
  isStreaming: boolean; // the last text came in chunks, and its stored message has not arrived yet
  reasoning: string;
  stage: string;
  retry: { reason: string; attempt: number; of: number } | null; // the model failed, and is asked again
  tasks: Task[];
  contextBlocks: Array<{ kind: string; title: string; reason: string }>;
  question: ApprovalQuestion | null;
  steers: string[];
  warnings: string[]; // of a budget that is nearly used up
  error: { code: string; message: string; hint: string; retryable: boolean } | null;
  status: string; // "" while it runs
  runtime: string;
  model: string;
  at: string; // when it ended
  usage: Record<string, unknown>;
  isUndone: boolean;
}

export interface ChatView {
  turns: TurnView[];
  firstSeq: number; // the first entry of the log that is loaded
  seq: number; // the last one
  driver: string | null;
}

export const EMPTY_VIEW: ChatView = { turns: [], firstSeq: 0, seq: 0, driver: null };

const buildTurn = (key: string): TurnView => ({
  key,
  count: 0,
  userMessage: null,
  parts: [],
  isStreaming: false,
  reasoning: "",
  stage: "",
  retry: null,
  tasks: [],
  contextBlocks: [],
  question: null,
  steers: [],
  warnings: [],
  error: null,
  status: "",
  runtime: "",
  model: "",
  at: "",
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
    turns[index]!.count += 1;
    return turns[index]!;
  };
  for (const event of events) {
    if (event.seq <= seq) continue;
    seq = event.seq;
    if (event.name === "message") {
      const isRequest = event.message.role === "user" && !event.turn_id;
      if (isRequest) turns.push(buildTurn(`m${seq}`));
      applyMessage(findTurn(event.turn_id ?? (isRequest ? `m${seq}` : undefined), true)!, event.message);
    } else if (event.name === "progress" && event.stage === "handoff") {
      driver = event.detail.to || driver;
    } else {
      const turn = findTurn(event.turn_id, event.name === "metadata");
      if (turn) applyEvent(turn, event);
    }
  }
  return { turns, firstSeq: view.firstSeq || (events[0]?.seq ?? 0), seq, driver };
}

/** The view of a longer list of events, in which turns that have not changed stay the same objects. A turn whose beginning was not
 * loaded before keeps its key, for its first message gave it one. */
export function rebuildView(before: ChatView, events: ChatEvent[]): ChatView {
  const known = new Map<string | number, TurnView>(
    before.turns.flatMap((turn) => [
      [turn.key, turn],
      [findEnd(turn), turn],
    ]),
  );
  const view = applyEvents({ ...EMPTY_VIEW, driver: before.driver }, events);
  const turns = view.turns.map((turn) => {
    const old = known.get(turn.key) ?? known.get(findEnd(turn));
    if (!old) return turn;
    if (old.count === turn.count && old.parts.length === turn.parts.length) return old;
    return { ...turn, key: old.key, parts: keepParts(old.parts, turn.parts) };
  });
  return { ...view, turns };
}

/** The number of the last message of a turn. */
const findEnd = (turn: TurnView): number => turn.parts.at(-1)?.seq ?? turn.userMessage?.seq ?? 0;

/** The parts of a turn that has grown, in which equal ones stay the same objects. */
function keepParts(before: Part[], parts: Part[]): Part[] {
  const known = new Map(before.map((part) => [getPartName(part), part]));
  return parts.map((part) => {
    const old = known.get(getPartName(part));
    return old && isSamePart(old, part) ? old : part;
  });
}

const getPartName = (part: Part): string => (part.kind === "tool" ? part.id : `${part.kind}${part.seq}`);

const isSamePart = (one: Part, other: Part): boolean => {
  const values = new Map(Object.entries(other));
  return Object.entries(one).every(
    ([name, value]) => value === values.get(name) || isEmptyList(value, values.get(name)),
  );
};

const isEmptyList = (...values: unknown[]): boolean => values.every((value) => Array.isArray(value) && !value.length);

export const findRunningTurn = (view: ChatView): TurnView | null =>
  view.turns.findLast((turn) => turn.status === "" && turn.runtime !== "") ?? null;

/** Whether everything in a turn was replaced by a summary in what the model sees. */
export const isSummarised = (turn: TurnView): boolean =>
  turn.userMessage
    ? turn.userMessage.compacted
    : turn.parts.length > 0 && turn.parts.every((part) => part.isSummarised);

/** What of a turn a log number leads to: the request, a text or a tool call; null if it is not in this view. */
export function findAnchor(view: ChatView, seq: number): { turn: TurnView; seq: number } | null {
  let found: { turn: TurnView; seq: number } | null = null;
  for (const turn of view.turns) {
    if (turn.userMessage && turn.userMessage.seq <= seq && turn.userMessage.seq >= (found?.seq ?? 0))
      found = { turn, seq: turn.userMessage.seq };
    for (const part of turn.parts) {
      if (part.kind === "tool" && part.resultSeq === seq) return { turn, seq: part.seq };
      if (part.seq <= seq && part.seq >= (found?.seq ?? 0)) found = { turn, seq: part.seq };
    }
  }
  return found;
}
