import { useState } from "react";
import { count, useWords } from "@/i18n";
import { emblem } from "./emblems";
import { Receipts } from "./Receipts";
import { TIERS, type Badge, type Host } from "./types";

/** Locked badges wear no tier's colour yet; those for several things at once have a colour of their own. */
export const tierClass = (badge: Badge): string =>
  badge.state === "secret" ? "secret" : badge.tier ? badge.tier.toLowerCase() : badge.unlocked ? "whole" : "locked";

export function Emblem({ badge, size = 44 }: { badge: Badge; size?: number }) {
  return (
    <span className="ach-emblem" aria-hidden="true">
      <svg width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" strokeLinejoin="round">
        <path d={emblem(badge.icon)} />
      </svg>
    </span>
  );
}

export function BadgeCard({ badge, host, isNew, share }: { badge: Badge; host: Host; isNew: boolean; share: () => void }) {
  const { t, language } = useWords();
  const [receipts, setReceipts] = useState(false);
  const secret = badge.state === "secret";
  const date = badge.unlocked_at ? new Date(badge.unlocked_at * 1000).toLocaleDateString(language === "zh" ? "zh-CN" : undefined, { dateStyle: "medium" }) : "";
  return (
    <article className={`ach-card ach-${tierClass(badge)} ${badge.state}${isNew ? " new" : ""}`} data-badge={badge.id} data-state={badge.state}>
      <header>
        <Emblem badge={badge} />
        <div className="ach-title">
          <h3>{badge.name}</h3>
          <p className="ach-micro">{badge.category}</p>
        </div>
        <div className="ach-marks">
          <span className="ach-mark state">{t(`ach.state.${badge.state}`)}</span>
          <span className="ach-mark tier">{tierWord(badge, t)}</span>
        </div>
      </header>
      <p className="ach-story">{badge.description}</p>
      <details>
        <summary>{secret ? t("ach.card.reveal") : t("ach.card.counts")}</summary>
        <p>{badge.criteria}</p>
      </details>
      {badge.tiers && !secret && <Ladder badge={badge} />}
      <div className="ach-foot">
        <div className="ach-progress">
          <div className="ach-bar" role="progressbar" aria-label={t("ach.card.progress", { name: badge.name })} aria-valuemin={0} aria-valuemax={100} aria-valuenow={secret ? 0 : badge.progress_pct}>
            <span style={{ width: `${secret ? 0 : badge.progress_pct}%` }} />
          </div>
          <span className="ach-numbers">{numbers(badge, t("ach.card.hidden"), language)}</span>
        </div>
        <div className="ach-line">
          {badge.evidence && <Evidence badge={badge} host={host} />}
          {date && <time className="ach-micro" dateTime={new Date(badge.unlocked_at! * 1000).toISOString()}>{date}</time>}
          <span className="ach-actions">
            {!secret && badge.progress > 0 && <button onClick={() => setReceipts(true)}>{t("ach.card.receipts")}</button>}
            {badge.unlocked && <button onClick={share}>{t("ach.card.share")}</button>}
          </span>
        </div>
      </div>
      {receipts && <Receipts badge={badge} host={host} close={() => setReceipts(false)} />}
    </article>
  );
}

function Ladder({ badge }: { badge: Badge }) {
  const { t, language } = useWords();
  const reached = badge.tier ? TIERS.indexOf(badge.tier as (typeof TIERS)[number]) : -1;
  return (
    <ol className="ach-ladder" aria-label={t("ach.card.ladder")}>
      {badge.tiers!.map((step, index) => (
        <li key={step.name} className={`ach-${step.name.toLowerCase()}${index <= reached ? " reached" : ""}`} title={`${step.name}: ${count(step.threshold, language)}`}>
          <span className="visually-hidden">{step.name} {count(step.threshold, language)}</span>
        </li>
      ))}
    </ol>
  );
}

function Evidence({ badge, host }: { badge: Badge; host: Host }) {
  const { t } = useWords();
  const { session_id: id, title } = badge.evidence!;
  const label = title || id;
  if (!host.openSession) return <span className="ach-evidence">{t("ach.card.evidence")} {label}</span>;
  return (
    <span className="ach-evidence">
      {t("ach.card.evidence")} <a href={host.sessionAddress(id)} onClick={(event) => { event.preventDefault(); host.openSession!(id); }}>{label}</a>
    </span>
  );
}

function tierWord(badge: Badge, t: ReturnType<typeof useWords>["t"]): string {
  if (badge.state === "secret") return t("ach.tier.hidden");
  if (badge.tier) return badge.tier;
  if (badge.next_tier) return t("ach.tier.target", { tier: badge.next_tier });
  return badge.unlocked ? t("ach.tier.complete") : t("ach.tier.objective");
}

function numbers(badge: Badge, hidden: string, language: ReturnType<typeof useWords>["language"]): string {
  if (badge.state === "secret") return hidden;
  if (badge.requirements) return `${badge.progress_pct}%`;
  if (!badge.next_tier) return count(badge.progress, language);
  return `${count(badge.progress, language)} / ${count(badge.next_threshold, language)}`;
}
