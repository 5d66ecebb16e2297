import { expect, test } from "vitest";
import { type Badge, getBarPercent } from "@/achievements/types";

const badge = (changes: Partial<Badge>) =>
  ({
    state: "unlocked",
    next_tier: "Silver",
    next_threshold: 500,
    progress: 242,
    progress_pct: 14,
    ...changes,
  }) as Badge;

test("a bar is as full as the figures beside it say", () => {
  expect(getBarPercent(badge({}))).toBe(48); // "242 / 500"
  expect(getBarPercent(badge({ next_tier: null, progress_pct: 100 }))).toBe(100);
  expect(getBarPercent(badge({ state: "secret" }))).toBe(0);
});
