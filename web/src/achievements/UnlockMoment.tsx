import { useMessages } from "@/achievements/messages";
import { translateTier } from "@/serverTexts/badgeTexts";
import { useServerTexts } from "@/serverTexts/serverTexts";
import { Emblem, getTierClass } from "./BadgeCard";
import { type Badge, TIERS } from "./types";

const MOST_SHOWN = 6;

interface Props {
  badges: Badge[]; // unlocked or raised since the person looked last
  share: (badge: Badge) => void;
  close: () => void;
}

/** Celebrates what was unlocked since the last visit, or just now, until it is closed. */
export function UnlockMoment({ badges, share, close }: Props) {
  const { t } = useMessages();
  const texts = useServerTexts();
  const rank = (badge: Badge) => TIERS.indexOf(badge.tier as (typeof TIERS)[number]);
  const [best, ...others] = [...badges].sort((a, b) => rank(b) - rank(a));
  if (!best) return null;
  return (
    <section className={`ach-moment ach-${getTierClass(best)}`} role="status" aria-label={t("ach.moment")}>
      <span className="ach-moment-emblem">
        <Emblem badge={best} size={72} />
      </span>
      <div className="ach-moment-text">
        <p className="ach-kicker">{t("ach.moment")}</p>
        <h2>{best.name}</h2>
        <p className="dim">
          {best.tier && <strong>{translateTier(best.tier, texts)} · </strong>}
          {best.description}
        </p>
        {others.length > 0 && (
          <ul className="ach-recent">
            {others.slice(0, MOST_SHOWN).map((badge) => (
              <li key={badge.id} className={`ach-${getTierClass(badge)}`}>
                <Emblem badge={badge} size={18} /> {badge.name}
              </li>
            ))}
            {others.length > MOST_SHOWN && <li>{t("ach.moment.more", { n: others.length - MOST_SHOWN })}</li>}
          </ul>
        )}
      </div>
      <div className="ach-moment-actions">
        <button className="button primary" onClick={() => share(best)}>
          {t("ach.card.share")}
        </button>
        <button className="button" onClick={close}>
          {t("action.close")}
        </button>
      </div>
    </section>
  );
}
