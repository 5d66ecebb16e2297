/*! Original plugin: hermes-achievements by PCinkusz, MIT, https://github.com/PCinkusz/hermes-achievements */
import { useMemo, useState } from "react";
import { count, useWords, type Key } from "@/i18n";
import { BadgeCard, Emblem, tierClass } from "./BadgeCard";
import { ScanBanner } from "./ScanBanner";
import { Share } from "./Share";
import { Skeleton } from "./Skeleton";
import { isBuilding, isScanning, TIERS, type Answer, type Badge, type Host, type State } from "./types";
import { useBadges } from "./useBadges";
import { shown, useFilters, type Filters, type Sort } from "./filters";

const STATES: Array<State | "all"> = ["all", "unlocked", "discovered", "secret"];
const SORTS: Sort[] = ["catalogue", "nearest", "tier", "newest", "name"];

export function Achievements({ host }: { host: Host }) {
  const { t } = useWords();
  const { answer, error, loading, rescan, retry, fresh } = useBadges(host);
  const [filters, change] = useFilters();
  const [shared, setShared] = useState<Badge | null>(null);
  const told = answer?.error ?? (error ? (error instanceof Error ? error.message : String(error)) : "");
  return (
    <div className="ach page">
      <Hero answer={answer} rescan={rescan} />
      {answer && isBuilding(answer) && <ScanBanner answer={answer} />}
      {told && (
        <div className="card problem" role="alert">
          <p><strong>{told}</strong></p>
          <button className="button" onClick={retry}>{t("action.retry")}</button>
        </div>
      )}
      {loading && <Skeleton />}
      {answer && <Stats answer={answer} />}
      {answer && <Guide />}
      {answer && <Toolbar answer={answer} filters={filters} change={change} />}
      {answer && <Recent answer={answer} />}
      {answer && <Grid answer={answer} filters={filters} host={host} fresh={fresh} share={setShared} />}
      {shared && <Share badge={shared} close={() => setShared(null)} />}
    </div>
  );
}

function Hero({ answer, rescan }: { answer: Answer | null; rescan: () => void }) {
  const { t, language } = useWords();
  const scanning = answer !== null && isScanning(answer);
  const at = answer?.generated_at ? new Date(answer.generated_at * 1000) : null;
  return (
    <section className="ach-hero">
      <div>
        <p className="ach-kicker">{t("ach.kicker")}</p>
        <h1>{t("nav.achievements")}</h1>
        <p className="dim">{t("ach.about")}</p>
      </div>
      <div className="ach-hero-side">
        <button className="button" onClick={rescan} disabled={scanning}>{scanning ? t("ach.rescanning") : t("ach.rescan")}</button>
        {at && !isBuilding(answer!) && (
          <p className="ach-micro">
            {t("ach.asof")} <time dateTime={at.toISOString()}>{at.toLocaleString(language === "zh" ? "zh-CN" : undefined, { dateStyle: "medium", timeStyle: "short" })}</time>
            {answer!.is_stale && <> · {t("ach.updating")}</>}
          </p>
        )}
      </div>
    </section>
  );
}

function Stats({ answer }: { answer: Answer }) {
  const { t, language } = useWords();
  const unlocked = answer.achievements.filter((one) => one.unlocked);
  const best = [...TIERS].reverse().find((tier) => unlocked.some((one) => one.tier === tier));
  const latest = [...unlocked].filter((one) => one.unlocked_at).sort((a, b) => b.unlocked_at! - a.unlocked_at!)[0];
  const stats: Array<[Key, string, string]> = [
    ["ach.stat.unlocked", `${count(answer.unlocked_count, language)} / ${count(answer.total_count, language)}`, t("ach.stat.unlocked.hint")],
    ["ach.stat.discovered", count(answer.discovered_count, language), t("ach.stat.discovered.hint")],
    ["ach.stat.secrets", count(answer.secret_count, language), t("ach.stat.secrets.hint")],
    ["ach.stat.highest", best ?? t("ach.stat.none"), t("ach.stat.highest.hint")],
    ["ach.stat.latest", latest?.name ?? t("ach.stat.none"), latest?.category ?? t("ach.stat.latest.hint")],
  ];
  return (
    <dl className="ach-stats">
      {stats.map(([label, value, hint]) => (
        <div key={label} className="card">
          <dt className="ach-micro">{t(label)}</dt>
          <dd><strong>{value}</strong><span className="dim">{hint}</span></dd>
        </div>
      ))}
    </dl>
  );
}

function Guide() {
  const { t } = useWords();
  return (
    <div className="ach-guide">
      <section className="card">
        <h2>{t("ach.guide.tiers")}</h2>
        <ol className="ach-tiers">
          {TIERS.map((tier) => <li key={tier} className={`ach-${tier.toLowerCase()}`}>{tier}</li>)}
        </ol>
      </section>
      <section className="card">
        <h2>{t("ach.guide.secrets")}</h2>
        <p className="dim">{t("ach.guide.secrets.text")}</p>
      </section>
    </div>
  );
}

function Toolbar({ answer, filters, change }: { answer: Answer; filters: Filters; change: (some: Partial<Filters>) => void }) {
  const { t } = useWords();
  const categories = useMemo(() => [...new Set(answer.achievements.map((one) => one.category))], [answer.achievements]);
  return (
    <div className="ach-toolbar">
      <div className="ach-pills" role="group" aria-label={t("ach.filter.category")}>
        {["", ...categories].map((one) => (
          <button key={one} aria-pressed={filters.category === one} onClick={() => change({ category: one })}>{one || t("ach.filter.all")}</button>
        ))}
      </div>
      <div className="row">
        <div className="ach-pills" role="group" aria-label={t("ach.filter.state")}>
          {STATES.map((one) => (
            <button key={one} aria-pressed={filters.state === one} onClick={() => change({ state: one })}>{t(`ach.state.${one}`)}</button>
          ))}
        </div>
        <input data-search type="search" className="grow" placeholder={t("ach.filter.search")} aria-label={t("ach.filter.search")} value={filters.text} onChange={(event) => change({ text: event.target.value })} />
        <select aria-label={t("ach.filter.sort")} value={filters.sort} onChange={(event) => change({ sort: event.target.value as Sort })}>
          {SORTS.map((one) => <option key={one} value={one}>{t(`ach.sort.${one}`)}</option>)}
        </select>
      </div>
    </div>
  );
}

function Recent({ answer }: { answer: Answer }) {
  const { t, language } = useWords();
  const newest = answer.achievements.filter((one) => one.unlocked_at).sort((a, b) => b.unlocked_at! - a.unlocked_at!).slice(0, 5);
  if (!newest.length) return null;
  return (
    <section aria-label={t("ach.recent")}>
      <h2 className="ach-micro">{t("ach.recent")}</h2>
      <ul className="ach-recent">
        {newest.map((one) => (
          <li key={one.id} className={`ach-${tierClass(one)}`}>
            <Emblem badge={one} size={18} /> {one.name}
            <time className="dim" dateTime={new Date(one.unlocked_at! * 1000).toISOString()}>{new Date(one.unlocked_at! * 1000).toLocaleDateString(language === "zh" ? "zh-CN" : undefined, { month: "short", day: "numeric", year: "numeric" })}</time>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Grid({ answer, filters, host, fresh, share }: { answer: Answer; filters: Filters; host: Host; fresh: ReadonlySet<string>; share: (badge: Badge) => void }) {
  const { t } = useWords();
  const badges = useMemo(() => shown(answer.achievements, filters), [answer.achievements, filters]);
  if (!badges.length) return <p className="empty">{filters.state === "secret" ? t("ach.empty.secret") : t("ach.empty")}</p>;
  return (
    <section className="ach-grid" aria-label={t("nav.achievements")}>
      {badges.map((one) => <BadgeCard key={one.id} badge={one} host={host} isNew={fresh.has(one.id)} share={() => share(one)} />)}
    </section>
  );
}
