/*! Original plugin: hermes-achievements by PCinkusz, MIT, https://github.com/PCinkusz/hermes-achievements */
import { useMemo, useState } from "react";
import { type MessageKey, useMessages } from "@/achievements/messages";
import { formatNumber } from "@/i18n";
import { translateBadge, translateCategory, translateTier } from "@/serverTexts/badgeTexts";
import { useServerTexts } from "@/serverTexts/serverTexts";
import { BadgeCard, Emblem, getTierClass } from "./BadgeCard";
import { BadgeToolbar } from "./BadgeToolbar";
import { type BadgeFilters, filterBadges, useBadgeFilters } from "./badgeFilters";
import { Hero } from "./Hero";
import { NextUp } from "./NextUp";
import { ScanBanner } from "./ScanBanner";
import { ShareDialog } from "./ShareDialog";
import { type AchievementsHost, type AchievementsResponse, type Badge, getDate, isBuilding, TIERS } from "./types";
import { UnlockMoment } from "./UnlockMoment";
import { useBadges } from "./useBadges";
import { useUnlockMoment } from "./useUnlockMoment";

/** The whole achievements page, shared by our dashboard and the plugin for a Hermes dashboard. */
export function AchievementsPanel({ host }: { host: AchievementsHost }) {
  const { t, language } = useMessages();
  const texts = useServerTexts();
  const { response: received, error, loading, rescan, retry, newlyUnlocked } = useBadges(host);
  const response = useMemo(
    () =>
      received && {
        ...received,
        achievements: received.achievements.map((badge) => translateBadge(badge, texts, language)),
      },
    [received, texts, language],
  );
  const [filters, changeFilters] = useBadgeFilters();
  const [sharedBadge, setSharedBadge] = useState<Badge | null>(null);
  const moment = useUnlockMoment(response);
  const errorMessage = response?.error ?? (error ? (error instanceof Error ? error.message : String(error)) : "");
  return (
    <div className="ach page">
      <Hero response={response} rescan={rescan} host={host} />
      {response && isBuilding(response) && <ScanBanner response={response} />}
      {errorMessage && (
        <div className="card problem" role="alert">
          <p>
            <strong>{errorMessage}</strong>
          </p>
          <button className="button" onClick={retry}>
            {t("action.retry")}
          </button>
        </div>
      )}
      {loading && <LoadingSkeleton />}
      {response && <Stats response={response} />}
      {moment.unlocked.length > 0 && (
        <UnlockMoment badges={moment.unlocked} share={setSharedBadge} close={moment.close} />
      )}
      {response && <NextUp response={response} />}
      {response && <BadgeToolbar response={response} filters={filters} changeFilters={changeFilters} />}
      {response && <RecentUnlocks response={response} />}
      {response && (
        <BadgeGrid
          response={response}
          filters={filters}
          host={host}
          newlyUnlocked={newlyUnlocked}
          onShare={setSharedBadge}
        />
      )}
      {response && <TierGuide />}
      {sharedBadge && <ShareDialog badge={sharedBadge} close={() => setSharedBadge(null)} />}
    </div>
  );
}

const STAT_LABELS: MessageKey[] = [
  "ach.stat.unlocked",
  "ach.stat.discovered",
  "ach.stat.secrets",
  "ach.stat.highest",
  "ach.stat.latest",
];

/** Placeholder until the first response; a refresh never shows it again. */
function LoadingSkeleton() {
  const { t } = useMessages();
  return (
    <div className="ach-skeleton" role="status" aria-label={t("ach.loading")}>
      <div className="ach-stats">
        {STAT_LABELS.map((label) => (
          <div key={label} className="card">
            <p className="ach-caption">{t(label)}</p>
            <div className="ach-shimmer line" />
          </div>
        ))}
      </div>
      <div className="ach-grid">
        {Array.from({ length: 6 }, (_, index) => (
          <div key={index} className="ach-card ach-shimmer" />
        ))}
      </div>
    </div>
  );
}

function Stats({ response }: { response: AchievementsResponse }) {
  const { t, language } = useMessages();
  const texts = useServerTexts();
  const unlocked = response.achievements.filter((badge) => badge.unlocked);
  const highestTier = [...TIERS].reverse().find((tier) => unlocked.some((badge) => badge.tier === tier));
  const latest = [...unlocked].filter((badge) => getDate(badge)).sort((a, b) => getDate(b) - getDate(a))[0];
  const stats: Array<[MessageKey, string, string]> = [
    [
      "ach.stat.unlocked",
      `${formatNumber(response.unlocked_count, language)} / ${formatNumber(response.total_count, language)}`,
      t("ach.stat.unlocked.hint"),
    ],
    ["ach.stat.discovered", formatNumber(response.discovered_count, language), t("ach.stat.discovered.hint")],
    ["ach.stat.secrets", formatNumber(response.secret_count, language), t("ach.stat.secrets.hint")],
    [
      "ach.stat.highest",
      highestTier ? translateTier(highestTier, texts) : t("ach.stat.none"),
      t("ach.stat.highest.hint"),
    ],
    [
      "ach.stat.latest",
      latest?.name ?? t("ach.stat.none"),
      latest ? translateCategory(latest.category, texts) : t("ach.stat.latest.hint"),
    ],
  ];
  return (
    <dl className="ach-stats">
      {stats.map(([label, value, hint]) => (
        <div key={label} className="card">
          <dt className="ach-caption">{t(label)}</dt>
          <dd>
            <strong>{value}</strong>
            <span className="dim">{hint}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function TierGuide() {
  const { t } = useMessages();
  const texts = useServerTexts();
  return (
    <div className="ach-guide">
      <section className="card">
        <h2>{t("ach.guide.tiers")}</h2>
        <ol className="ach-tiers">
          {TIERS.map((tier) => (
            <li key={tier} className={`ach-${tier.toLowerCase()}`}>
              {translateTier(tier, texts)}
            </li>
          ))}
        </ol>
      </section>
      <section className="card">
        <h2>{t("ach.guide.secrets")}</h2>
        <p className="dim">{t("ach.guide.secrets.text")}</p>
      </section>
    </div>
  );
}

function RecentUnlocks({ response }: { response: AchievementsResponse }) {
  const { t, language } = useMessages();
  const newest = response.achievements
    .filter((badge) => getDate(badge))
    .sort((a, b) => getDate(b) - getDate(a))
    .slice(0, 5);
  if (!newest.length) return null;
  return (
    <section aria-label={t("ach.recent")}>
      <h2 className="ach-caption">{t("ach.recent")}</h2>
      <ul className="ach-recent">
        {newest.map((badge) => (
          <li key={badge.id} className={`ach-${getTierClass(badge)}`}>
            <Emblem badge={badge} size={18} /> {badge.name}
            <time className="dim" dateTime={new Date(getDate(badge) * 1000).toISOString()}>
              {new Date(getDate(badge) * 1000).toLocaleDateString(language === "zh" ? "zh-CN" : undefined, {
                month: "short",
                day: "numeric",
                year: "numeric",
              })}
            </time>
          </li>
        ))}
      </ul>
    </section>
  );
}

function BadgeGrid({
  response,
  filters,
  host,
  newlyUnlocked,
  onShare,
}: {
  response: AchievementsResponse;
  filters: BadgeFilters;
  host: AchievementsHost;
  newlyUnlocked: ReadonlySet<string>;
  onShare: (badge: Badge) => void;
}) {
  const { t } = useMessages();
  const badges = useMemo(() => filterBadges(response.achievements, filters), [response.achievements, filters]);
  if (!badges.length)
    return <p className="empty-state">{filters.state === "secret" ? t("ach.empty.secret") : t("ach.empty")}</p>;
  return (
    <section className="ach-grid" aria-label={t("nav.achievements")}>
      {badges.map((badge) => (
        <BadgeCard
          key={badge.id}
          badge={badge}
          host={host}
          isNew={newlyUnlocked.has(badge.id)}
          share={() => onShare(badge)}
        />
      ))}
    </section>
  );
}
