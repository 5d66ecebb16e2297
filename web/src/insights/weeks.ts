// Days of the insights, joined to weeks where a bar per day would be too thin to read.

const DAY_SECONDS = 86_400;
export const DAYS_IN_BARS = 120;

export interface Series {
  x: number[]; // Unix seconds of the day, or of the Monday of the week
  y: Array<number | null>;
}

/** Sums by week; a week without any known value has none. */
export function groupByWeek({ x, y }: Series): Series {
  const weeks = new Map<number, number | null>();
  x.forEach((time, index) => {
    const monday = time - ((Math.floor(time / DAY_SECONDS) + 3) % 7) * DAY_SECONDS; // the first day of 1970 was a Thursday
    const sum = weeks.get(monday) ?? null;
    const value = y[index] ?? null;
    weeks.set(monday, value === null ? sum : (sum ?? 0) + value);
  });
  return { x: [...weeks.keys()], y: [...weeks.values()] };
}
