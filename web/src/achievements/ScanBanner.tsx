import { useMessages } from "@/achievements/messages";
import { formatNumber } from "@/i18n";
import type { AchievementsResponse } from "./types";

/** Live progress of the first scan. */
export function ScanBanner({ response }: { response: AchievementsResponse }) {
  const { t, language } = useMessages();
  const meta = response.scan_meta;
  const total = meta.sessions_expected_total || meta.status?.sessions_expected_total || 0;
  const done = Math.max(
    meta.sessions_scanned_so_far ?? meta.sessions_total ?? 0,
    meta.status?.sessions_scanned_so_far ?? 0,
  );
  const percent = total > 0 ? Math.max(0, Math.min(100, Math.floor((done / total) * 100))) : 0;
  return (
    <div className="ach-banner" role="status" aria-live="polite">
      <span className="ach-pulse-dot" aria-hidden="true" />
      <div className="ach-banner-text">
        <p className="ach-banner-head">{t("ach.scan.head")}</p>
        <p>
          {total > 0
            ? t("ach.scan.detail", {
                done: formatNumber(done, language),
                total: formatNumber(total, language),
                percent,
              })
            : t("ach.scan.waiting")}
        </p>
        {total > 0 && (
          <div
            className="ach-bar"
            role="progressbar"
            aria-label={t("ach.scan.head")}
            aria-valuemin={0}
            aria-valuemax={100}
            aria-valuenow={percent}
          >
            <span style={{ width: `${percent}%` }} />
          </div>
        )}
      </div>
    </div>
  );
}
