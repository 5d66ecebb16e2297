import { describe, expect, it } from "vitest";
import type { Message } from "@/api/types";
import type { ChatEvent } from "@/chat/chatEvents";
import { applyEvents, EMPTY_VIEW, rebuildView } from "@/chat/chatView";

const message = (seq: number, role: string, content: string, more: Partial<Message> = {}): ChatEvent => ({
  name: "message",
  seq,
  turn_id: more.turn_id ?? undefined,
  message: {
    id: `s:${seq}`,
    session: "s",
    seq,
    role,
    content,
    timestamp: null,
    active: true,
    compacted: false,
    observed: false,
    ...more,
  },
});

describe("the view of a conversation", () => {
  it("is the same in whatever batches its events arrive", () => {
    const events = [message(1, "user", "hi"), message(2, "assistant", "hello"), message(3, "user", "bye")];
    const atOnce = applyEvents(EMPTY_VIEW, events);
    const oneByOne = events.reduce((view, event) => applyEvents(view, [event]), EMPTY_VIEW);
    expect(oneByOne).toEqual(atOnce);
    expect(atOnce.turns.map((turn) => turn.userMessage?.content)).toEqual(["hi", "bye"]);
  });

  it("keeps thoughts before the text they led to, streamed and stored", () => {
    const turn_id = "t";
    const streamed = applyEvents(EMPTY_VIEW, [
      message(1, "user", "When?", { turn_id }),
      { name: "progress", seq: 2, turn_id, stage: "thinking", detail: { text: "The moon pulls." } },
      { name: "chunk", seq: 3, turn_id, text: "Twice a day." },
    ]);
    const stored = applyEvents(streamed, [
      message(4, "assistant", "Twice a day.", { turn_id, reasoning_content: "The moon pulls." }),
    ]);
    for (const view of [streamed, stored])
      expect(view.turns[0]!.parts).toMatchObject([
        { kind: "reasoning", text: "The moon pulls." },
        { kind: "text", text: "Twice a day." },
      ]);
  });

  it("shows a repeated event once", () => {
    const view = applyEvents(EMPTY_VIEW, [message(1, "user", "hi"), message(1, "user", "hi")]);
    expect(view.turns).toHaveLength(1);
  });

  it.each(["t", undefined])(
    "keeps what is shown when older messages of its turn come in above (turn %s)",
    (turn_id) => {
      const toolCall = (seq: number, id: string) =>
        message(seq, "assistant", "", { turn_id, tool_calls: [{ id, name: "read", arguments: { path: id } }] });
      const result = (seq: number, id: string) => message(seq, "tool", "read", { turn_id, tool_call_id: id });
      const newer = [toolCall(4, "c2"), result(5, "c2"), message(6, "assistant", "done", { turn_id })];
      const older = [message(1, "user", "Read."), toolCall(2, "c1"), result(3, "c1")];
      const before = applyEvents(EMPTY_VIEW, newer);
      const half = rebuildView(before, [...older.slice(1), ...newer]);
      const whole = rebuildView(half, [...older, ...newer]);
      for (const view of [half, whole]) {
        const turn = view.turns.at(-1)!;
        expect(turn.key).toBe(before.turns[0]!.key);
        expect(turn.parts[0]).toMatchObject({ id: "c1", status: "completed" });
        expect(turn.parts).toHaveLength(3);
        expect(turn.parts[1]).toBe(before.turns[0]!.parts[0]);
        expect(turn.parts[2]).toBe(before.turns[0]!.parts[1]);
      }
    },
  );
});
