import type { Badge } from "@/achievements/types";
import type { Language } from "@/i18n";
import { formatNumber } from "@/i18n";
import type { ServerTexts } from "@/serverTexts/serverTexts";

type Pairs = Record<string, string[]>;
type Names = Record<string, string>;

/** A badge in the person's language: its texts alone differ. A secret one stays secret. */
export function translateBadge(badge: Badge, texts: ServerTexts | null, language: Language): Badge {
  if (!texts) return badge;
  const { hidden } = texts.badges;
  if (badge.state === "secret")
    return { ...badge, name: hidden.name, description: hidden.story, criteria: hidden.criteria };
  const known = (texts.badges.badges as Pairs)[badge.id];
  if (!known) return badge;
  return { ...badge, name: known[0]!, description: known[1]!, criteria: describeCriteria(badge, texts, language) };
}

export const translateCategory = (category: string, texts: ServerTexts | null): string =>
  (texts?.badges.categories as Names | undefined)?.[category] ?? category;

export const translateTier = (tier: string, texts: ServerTexts | null): string =>
  (texts?.badges.tiers as Names | undefined)?.[tier] ?? tier;

function describeCriteria(badge: Badge, texts: ServerTexts, language: Language): string {
  const totals = texts.badges.totals as Names;
  if (badge.requirements)
    return badge.requirements
      .map((one) => `${totals[one.metric] ?? one.metric} ≥ ${formatNumber(one.gte, language)}`)
      .join("；");
  const ladder = badge.tiers
    ?.map((step) => `${translateTier(step.name, texts)} ${formatNumber(step.threshold, language)}`)
    .join("，");
  const metric = badge.threshold_metric ?? "";
  return ladder && totals[metric] ? `${totals[metric]}：${ladder}` : badge.criteria;
}
