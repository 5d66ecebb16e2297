import { useCallback, useEffect, useMemo, useState } from "react";
import { useMessages } from "@/achievements/messages";
import { formatNumber, type Language } from "@/i18n";
import { formatDay } from "./formatDay";
import { PictureDialog } from "./PictureDialog";
import { type AchievementsHost, type AchievementsResponse, getDate } from "./types";
import { drawYearCard } from "./yearCard";
import { listYears, reviewYear, type YearInsights } from "./yearReview";

const ALL_DAYS = 3660;

/** A year of sessions as one picture; which one can be chosen. */
export function YearDialog({
  host,
  response,
  close,
}: {
  host: AchievementsHost;
  response: AchievementsResponse;
  close: () => void;
}) {
  const { t, language } = useMessages();
  const [years, setYears] = useState<number[] | null>(null);
  const [year, setYear] = useState(0);
  const [insights, setInsights] = useState<YearInsights | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    const controller = new AbortController();
    const read = async () => {
      const query = year ? `year=${year}` : `days=${ALL_DAYS}`;
      const found = await host.fetchJson<YearInsights>(`${host.insightsApi}?${query}`, { signal: controller.signal });
      if (year) return setInsights(found);
      const known = listYears(found);
      setYears(known);
      if (known[0]) setYear(known[0]);
    };
    read().catch((problem: unknown) => {
      if (!controller.signal.aborted) setError(problem instanceof Error ? problem.message : String(problem));
    });
    return () => controller.abort();
  }, [host, year]);
  const badges = useMemo(
    () => response.achievements.filter((badge) => new Date(getDate(badge) * 1000).getFullYear() === year).length,
    [response, year],
  );
  const draw = useCallback(
    () => drawReview(insights!, year, badges, t, language),
    [insights, year, badges, t, language],
  );
  return (
    <PictureDialog
      title={t("ach.year")}
      alt={t("ach.year.alt", { year })}
      fileName={`sojourn-${year}.png`}
      draw={insights && year ? draw : null}
      close={close}
    >
      {error && <p role="alert">{error}</p>}
      {years?.length === 0 && <p role="status">{t("ach.year.none")}</p>}
      {years && years.length > 1 && (
        <select
          aria-label={t("ach.year.choose")}
          value={year}
          onChange={(event) => setYear(Number(event.target.value))}
        >
          {years.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      )}
    </PictureDialog>
  );
}

function drawReview(
  insights: YearInsights,
  year: number,
  badges: number,
  t: ReturnType<typeof useMessages>["t"],
  language: Language,
): Promise<Blob> {
  const review = reviewYear(insights);
  const locale = language === "zh" ? "zh-CN" : "en-US";
  const short = (value: number) => value.toLocaleString(locale, { notation: "compact", maximumFractionDigits: 1 });
  const busiest = review.months.indexOf(Math.max(...review.months));
  const nameMonth = (month: number, style: "long" | "narrow") =>
    new Date(2000, month, 1).toLocaleDateString(locale, { month: style });
  return drawYearCard(review.months, {
    kicker: t("ach.year"),
    year: String(year),
    figures: [
      [short(review.sessions), t("ach.year.sessions")],
      [short(review.messages), t("ach.year.messages")],
      [short(review.toolCalls), t("ach.year.calls")],
      [short(review.tokens), t("ach.year.tokens")],
      [short(review.activeDays), t("ach.year.days")],
      [formatNumber(badges, language), t("ach.year.badges")],
    ],
    facts: [
      [t("ach.year.streak"), t("ach.year.streak.days", { n: review.longestStreak })],
      [t("ach.year.busiest"), nameMonth(busiest, "long")],
      [t("ach.year.model"), review.model || "–"],
    ],
    chart: t("ach.year.chart"),
    months: review.months.map((_, month) => nameMonth(month, language === "zh" ? "long" : "narrow").replace("月", "")),
    date: formatDay(Date.now() / 1000, language),
  });
}
