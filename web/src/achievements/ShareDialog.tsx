import { useCallback } from "react";
import { useMessages } from "@/achievements/messages";
import { formatNumber } from "@/i18n";
import { translateCategory, translateTier } from "@/serverTexts/badgeTexts";
import { useServerTexts } from "@/serverTexts/serverTexts";
import { formatDay } from "./formatDay";
import { PictureDialog } from "./PictureDialog";
import { drawShareCard } from "./shareCard";
import { type Badge, getDate } from "./types";

export function ShareDialog({ badge, close }: { badge: Badge; close: () => void }) {
  const { t, language } = useMessages();
  const texts = useServerTexts();
  const draw = useCallback(() => {
    const progress =
      badge.requirements || !badge.progress
        ? ""
        : badge.next_tier
          ? `${formatNumber(badge.progress, language)} / ${formatNumber(badge.next_threshold, language)}`
          : formatNumber(badge.progress, language);
    return drawShareCard(badge, {
      unlocked: t("ach.state.unlocked"),
      progress,
      tier: badge.tier ? translateTier(badge.tier, texts) : t("ach.tier.complete"),
      category: translateCategory(badge.category, texts),
      date: formatDay(getDate(badge), language),
    });
  }, [badge, texts, language, t]);
  return (
    <PictureDialog
      title={t("ach.share.title", { name: badge.name })}
      alt={t("ach.share.alt", { name: badge.name })}
      fileName={`sojourn-achievement-${badge.id}.png`}
      draw={draw}
      close={close}
    />
  );
}
