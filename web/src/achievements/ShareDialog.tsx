import { useEffect, useState } from "react";
import { useMessages } from "@/achievements/messages";
import { Dialog } from "@/components/Dialog";
import { formatNumber } from "@/i18n";
import { translateCategory, translateTier } from "@/serverTexts/badgeTexts";
import { useServerTexts } from "@/serverTexts/serverTexts";
import { CARD_HEIGHT, CARD_WIDTH, drawShareCard } from "./shareCard";
import { type Badge, getDate } from "./types";

export function ShareDialog({ badge, close }: { badge: Badge; close: () => void }) {
  const { t, language } = useMessages();
  const texts = useServerTexts();
  const [image, setImage] = useState<{ blob: Blob; url: string } | null>(null);
  const [error, setError] = useState("");
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    let url = "";
    let isClosed = false;
    const progress =
      badge.requirements || !badge.progress
        ? ""
        : badge.next_tier
          ? `${formatNumber(badge.progress, language)} / ${formatNumber(badge.next_threshold, language)}`
          : formatNumber(badge.progress, language);
    drawShareCard(badge, {
      unlocked: t("ach.state.unlocked"),
      progress,
      tier: badge.tier ? translateTier(badge.tier, texts) : t("ach.tier.complete"),
      category: translateCategory(badge.category, texts),
      date: getDate(badge)
        ? new Date(getDate(badge) * 1000).toLocaleDateString(language === "zh" ? "zh-CN" : undefined, {
            dateStyle: "medium",
          })
        : "",
    }).then(
      (blob) => {
        if (isClosed) return;
        url = URL.createObjectURL(blob);
        setImage({ blob, url });
      },
      (problem: Error) => setError(problem.message),
    );
    return () => {
      isClosed = true;
      if (url) URL.revokeObjectURL(url);
    };
  }, [badge, language, t]);

  const copy = async () => {
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": image!.blob })]);
      setCopied(true);
      setTimeout(() => setCopied(false), 1800);
    } catch {
      setError(t("ach.share.nocopy"));
    }
  };

  return (
    <Dialog label={t("ach.share.title", { name: badge.name })} close={close} isWide closeLabel={t("action.close")}>
      <h2>{t("ach.share.title", { name: badge.name })}</h2>
      {image ? (
        <img
          className="ach-share"
          src={image.url}
          width={CARD_WIDTH}
          height={CARD_HEIGHT}
          alt={t("ach.share.alt", { name: badge.name })}
        />
      ) : (
        <div className="ach-share ach-shimmer" role="status">
          {t("ach.share.drawing")}
        </div>
      )}
      {error && <p role="alert">{error}</p>}
      <div className="row">
        <a
          className="button primary"
          aria-disabled={!image}
          href={image?.url}
          download={`sojourn-achievement-${badge.id}.png`}
        >
          {t("ach.share.download")}
        </a>
        <button className="button" disabled={!image} onClick={() => void copy()}>
          {copied ? t("ach.share.copied") : t("ach.share.copy")}
        </button>
      </div>
      <p className="dim">{t("ach.share.note")}</p>
    </Dialog>
  );
}
