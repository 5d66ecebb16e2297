import { expect, it } from "vitest";
import { groupByWeek } from "@/insights/weeks";

it("sums days by the week that begins on Monday, and keeps what is unknown", () => {
  const days = ["2026-11-01", "2026-11-02", "2026-11-08", "2026-11-09", "2026-11-10"];
  const x = days.map((day) => Date.parse(day) / 1000);
  const weeks = groupByWeek({ x, y: [null, 1, 2, null, null] });
  expect(weeks.x.map((time) => new Date(time * 1000).toISOString().slice(0, 10))).toEqual([
    "2026-10-26",
    "2026-11-02",
    "2026-11-09",
  ]);
  expect(weeks.y).toEqual([null, 3, null]);
});
