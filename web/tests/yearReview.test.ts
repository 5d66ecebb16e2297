import { describe, expect, it } from "vitest";
import { listYears, reviewYear, type YearInsights } from "@/achievements/yearReview";

const use = (messages: number) => ({ sessions: 1, messages, tool_calls: 2, input_tokens: 10, output_tokens: 5 });
const day = (text: string, messages: number) => ({ day: text, ...use(messages) });
const insights: YearInsights = {
  totals: { sessions: 5, messages: 60, tool_calls: 7, input_tokens: 100, output_tokens: 11 },
  days: [
    day("2026-02-27", 5),
    day("2026-02-28", 5),
    day("2026-03-01", 30), // the day after the end of February
    day("2026-03-02", 0), // usage alone: nothing was said
    day("2026-03-03", 20),
  ],
  by_model: [
    { name: "", ...use(99) },
    { name: "small", ...use(3) },
    { name: "large", ...use(40) },
  ],
  by_source: [],
};

describe("a year in review", () => {
  it("counts days with messages and the longest row of them, over the end of a month", () => {
    const review = reviewYear(insights);
    expect([review.activeDays, review.longestStreak]).toEqual([4, 3]);
    expect([review.months[1], review.months[2], review.months[11]]).toEqual([10, 50, 0]);
    expect(review.tokens).toBe(111);
  });

  it("names the model that most was said with, and none where none is known", () => {
    expect(reviewYear(insights).model).toBe("large");
    expect(reviewYear({ ...insights, by_model: [{ name: "", ...use(9) }] }).model).toBe("");
  });

  it("offers the years in which something was said, newest first", () => {
    const days = [day("1970-01-01", 3), day("2024-05-05", 1), day("2025-01-01", 0), day("2026-01-01", 1)];
    expect(listYears({ ...insights, days })).toEqual([2026, 2024]);
  });
});
