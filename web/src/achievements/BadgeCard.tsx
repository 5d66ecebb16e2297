import { useState } from "react";
import { useMessages } from "@/achievements/messages";
import { formatNumber } from "@/i18n";
import { translateCategory, translateTier } from "@/serverTexts/badgeTexts";
import { useServerTexts } from "@/serverTexts/serverTexts";
import { getEmblemPath } from "./emblems";
import { Receipts } from "./Receipts";
import { type AchievementsHost, type Badge, getBarPercent, getDate, TIERS } from "./types";

/** The CSS class of the badge's colour: a locked badge has none of a tier, one without tiers has its own. */
export const getTierClass = (badge: Badge): string =>
  badge.state === "secret" ? "secret" : badge.tier ? badge.tier.toLowerCase() : badge.unlocked ? "untiered" : "locked";

export function Emblem({ badge, size = 44 }: { badge: Badge; size?: number }) {
  return (
    <span className="ach-emblem" aria-hidden="true">
      <svg
        width={size}
        height={size}
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
      >
        <path d={getEmblemPath(badge.icon)} />
      </svg>
    </span>
  );
}

export function BadgeCard({
  badge,
  host,
  isNew,
  share,
}: {
  badge: Badge;
  host: AchievementsHost;
  isNew: boolean;
  share: () => void;
}) {
  const { t, language } = useMessages();
  const texts = useServerTexts();
  const [showsReceipts, setShowsReceipts] = useState(false);
  const isSecret = badge.state === "secret";
  const date = getDate(badge)
    ? new Date(getDate(badge) * 1000).toLocaleDateString(language === "zh" ? "zh-CN" : undefined, {
        dateStyle: "medium",
      })
    : "";
  return (
    <article
      className={`ach-card ach-${getTierClass(badge)} ${badge.state}${isNew ? " new" : ""}`}
      data-badge={badge.id}
      data-state={badge.state}
    >
      <header>
        <Emblem badge={badge} />
        <div className="ach-title">
          <h3>{badge.name}</h3>
          <p className="ach-caption">{translateCategory(badge.category, texts)}</p>
        </div>
        <div className="ach-tags">
          <span className="ach-tag state">{t(`ach.state.${badge.state}`)}</span>
          <span className="ach-tag tier">{getTierLabel(badge, t, (tier) => translateTier(tier, texts))}</span>
        </div>
      </header>
      <p className="ach-description">{badge.description}</p>
      <details>
        <summary>{isSecret ? t("ach.card.reveal") : t("ach.card.counts")}</summary>
        <p>{badge.criteria}</p>
      </details>
      {badge.tiers && !isSecret && <TierLadder badge={badge} />}
      <div className="ach-footer">
        <div className="ach-progress">
          <div
            className="ach-bar"
            role="progressbar"
            aria-label={t("ach.card.progress", { name: badge.name })}
            aria-valuemin={0}
            aria-valuemax={100}
            aria-valuenow={getBarPercent(badge)}
          >
            <span style={{ width: `${getBarPercent(badge)}%` }} />
          </div>
          <span className="ach-count">{formatProgress(badge, t("ach.card.hidden"), language)}</span>
        </div>
        <div className="ach-meta">
          {badge.evidence && <Evidence badge={badge} host={host} />}
          {date && (
            <time className="ach-caption" dateTime={new Date(getDate(badge) * 1000).toISOString()}>
              {date}
            </time>
          )}
          <span className="ach-actions">
            {!isSecret && badge.progress > 0 && (
              <button onClick={() => setShowsReceipts(true)}>{t("ach.card.receipts")}</button>
            )}
            {badge.unlocked && <button onClick={share}>{t("ach.card.share")}</button>}
          </span>
        </div>
      </div>
      {showsReceipts && <Receipts badge={badge} host={host} close={() => setShowsReceipts(false)} />}
    </article>
  );
}

function TierLadder({ badge }: { badge: Badge }) {
  const { t, language } = useMessages();
  const texts = useServerTexts();
  const reached = badge.tier ? TIERS.indexOf(badge.tier as (typeof TIERS)[number]) : -1;
  return (
    <ol className="ach-tier-ladder" aria-label={t("ach.card.ladder")}>
      {badge.tiers!.map((step, index) => (
        <li
          key={step.name}
          className={`ach-${step.name.toLowerCase()}${index <= reached ? " reached" : ""}`}
          title={`${translateTier(step.name, texts)}: ${formatNumber(step.threshold, language)}`}
        >
          <span className="visually-hidden">
            {translateTier(step.name, texts)} {formatNumber(step.threshold, language)}
          </span>
        </li>
      ))}
    </ol>
  );
}

function Evidence({ badge, host }: { badge: Badge; host: AchievementsHost }) {
  const { t } = useMessages();
  const { session_id: id, title } = badge.evidence!;
  const label = title || id;
  if (!host.openSession)
    return (
      <span className="ach-evidence">
        {t("ach.card.evidence")} {label}
      </span>
    );
  return (
    <span className="ach-evidence">
      {t("ach.card.evidence")}{" "}
      <a
        href={host.getSessionUrl(id)}
        onClick={(event) => {
          event.preventDefault();
          host.openSession!(id);
        }}
      >
        {label}
      </a>
    </span>
  );
}

function getTierLabel(
  badge: Badge,
  t: ReturnType<typeof useMessages>["t"],
  translate: (tier: string) => string,
): string {
  if (badge.state === "secret") return t("ach.tier.hidden");
  if (badge.tier) return translate(badge.tier);
  if (badge.next_tier) return t("ach.tier.target", { tier: translate(badge.next_tier) });
  return badge.unlocked ? t("ach.tier.complete") : t("ach.tier.objective");
}

function formatProgress(badge: Badge, hidden: string, language: ReturnType<typeof useMessages>["language"]): string {
  if (badge.state === "secret") return hidden;
  if (badge.requirements) return `${badge.progress_pct}%`;
  if (!badge.next_tier) return formatNumber(badge.progress, language);
  return `${formatNumber(badge.progress, language)} / ${formatNumber(badge.next_threshold, language)}`;
}
