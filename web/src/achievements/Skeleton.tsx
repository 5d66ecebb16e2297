import { useWords, type Key } from "@/i18n";

const LABELS: Key[] = ["ach.stat.unlocked", "ach.stat.discovered", "ach.stat.secrets", "ach.stat.highest", "ach.stat.latest"];

/** Only before the very first answer; a refresh never brings it back. */
export function Skeleton() {
  const { t } = useWords();
  return (
    <div className="ach-skeleton" role="status" aria-label={t("ach.loading")}>
      <div className="ach-stats">{LABELS.map((label) => <div key={label} className="card"><p className="ach-micro">{t(label)}</p><div className="ach-shimmer line" /></div>)}</div>
      <div className="ach-grid">{Array.from({ length: 6 }, (_, index) => <div key={index} className="ach-card ach-shimmer" />)}</div>
    </div>
  );
}
