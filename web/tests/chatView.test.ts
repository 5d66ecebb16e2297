import { describe, expect, it } from "vitest";
import type { Message } from "@/api/types";
import type { ChatEvent } from "@/chat/chatEvents";
import { applyEvents, EMPTY_VIEW } from "@/chat/chatView";

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

  it("shows a repeated event once", () => {
    const view = applyEvents(EMPTY_VIEW, [message(1, "user", "hi"), message(1, "user", "hi")]);
    expect(view.turns).toHaveLength(1);
  });
});
