// A year of sessions in figures, from what Insights count. Pure.
interface Usage {
  sessions: number;
  messages: number;
  tool_calls: number;
  input_tokens: number;
  output_tokens: number;
}

/** The part of `GET /api/plugins/dashboard/insights` that a year in review needs. */
export interface YearInsights {
  totals: Usage;
  days: Array<Usage & { day: string }>;
  by_model: Array<Usage & { name: string }>;
  by_source: Array<Usage & { name: string }>;
}

export interface YearReview {
  sessions: number;
  messages: number;
  toolCalls: number;
  tokens: number;
  activeDays: number;
  longestStreak: number; // days in a row
  months: number[]; // messages in each
  model: string;
  source: string;
}

export const listYears = (insights: YearInsights): number[] =>
  [...new Set(insights.days.filter((day) => day.messages > 0).map((day) => Number(day.day.slice(0, 4))))]
    .filter((year) => year > 1970)
    .sort((a, b) => b - a);

export function reviewYear(insights: YearInsights): YearReview {
  const active = insights.days.filter((day) => day.messages > 0);
  const months = Array.from({ length: 12 }, () => 0);
  for (const day of active) months[Number(day.day.slice(5, 7)) - 1]! += day.messages;
  const { totals } = insights;
  return {
    sessions: totals.sessions,
    messages: totals.messages,
    toolCalls: totals.tool_calls,
    tokens: totals.input_tokens + totals.output_tokens,
    activeDays: active.length,
    longestStreak: findLongestStreak(active.map((day) => Date.parse(day.day) / 86_400_000)),
    months,
    model: findMostUsed(insights.by_model),
    source: findMostUsed(insights.by_source),
  };
}

function findLongestStreak(days: number[]): number {
  let longest = 0;
  let length = 0;
  for (const [index, day] of days.entries()) {
    length = index > 0 && day === days[index - 1]! + 1 ? length + 1 : 1;
    longest = Math.max(longest, length);
  }
  return longest;
}

const findMostUsed = (rows: Array<Usage & { name: string }>): string =>
  rows.filter((row) => row.name).sort((a, b) => b.messages - a.messages)[0]?.name ?? "";
