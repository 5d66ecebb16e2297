import { useCallback } from "react";
import { useMessages } from "@/achievements/messages";
import { translateTier } from "@/serverTexts/badgeTexts";
import { useServerTexts } from "@/serverTexts/serverTexts";
import { formatDay } from "./formatDay";
import { PictureDialog } from "./PictureDialog";
import { drawProfileCard } from "./profileCard";
import { type AchievementsResponse, getDate } from "./types";

/** All unlocked badges as one picture. */
export function ProfileDialog({ response, close }: { response: AchievementsResponse; close: () => void }) {
  const { t, language } = useMessages();
  const texts = useServerTexts();
  const draw = useCallback(() => {
    const dates = response.achievements.map(getDate).filter((date) => date > 0);
    return drawProfileCard(response.achievements, {
      kicker: t("nav.achievements"),
      unlocked: t("ach.profile.unlocked", { of: response.total_count }),
      since: dates.length ? t("ach.profile.since", { date: formatDay(Math.min(...dates), language) }) : "",
      tier: (tier) => translateTier(tier, texts),
      date: formatDay(Date.now() / 1000, language),
    });
  }, [response, texts, language, t]);
  return (
    <PictureDialog
      title={t("ach.profile")}
      alt={t("ach.profile.alt", { n: response.unlocked_count, of: response.total_count })}
      fileName="sojourn-profile.png"
      draw={draw}
      close={close}
    />
  );
}
