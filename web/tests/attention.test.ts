import { describe, expect, it } from "vitest";
import { compareStates, LONG_TURN_MS, type States } from "@/notifications/attention";

const row = (id: string, state: "waiting" | "running" | "") => ({
  id,
  waiting: state === "waiting",
  running: state !== "",
});

function follow(...looks: Array<[number, ReturnType<typeof row>[]]>) {
  let states: States | null = null;
  return looks.map(([now, sessions]) => {
    const found = compareStates(states, sessions, now);
    states = found.states;
    return found.attention.map(({ kind, session }) => `${kind} ${session.id}`);
  });
}

describe("attention", () => {
  it("is drawn once to a session that begins to wait", () => {
    expect(follow([0, [row("a", "running")]], [1, [row("a", "waiting")]], [2, [row("a", "waiting")]])).toEqual([
      [],
      ["waiting a"],
      [],
    ]);
    expect(follow([0, []], [1, [row("b", "waiting")]])[1]).toEqual(["waiting b"]);
  });

  it("is not drawn to what waited already when the page was opened", () => {
    expect(follow([0, [row("a", "waiting")]], [1, [row("a", "waiting")]])).toEqual([[], []]);
  });

  it("is drawn to the end of a long turn, not of a short one", () => {
    expect(follow([0, [row("a", "running")]], [LONG_TURN_MS, [row("a", "")]])[1]).toEqual(["done a"]);
    expect(follow([0, [row("a", "running")]], [LONG_TURN_MS - 1, [row("a", "")]])[1]).toEqual([]);
  });

  it("counts the time that a turn waited as part of it", () => {
    const looks = follow([0, [row("a", "running")]], [1, [row("a", "waiting")]], [LONG_TURN_MS, [row("a", "")]]);
    expect(looks[2]).toEqual(["done a"]);
  });
});
