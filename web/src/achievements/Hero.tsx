import { useState } from "react";
import { useMessages } from "@/achievements/messages";
import { formatDateTime } from "@/i18n";
import { ProfileDialog } from "./ProfileDialog";
import { type AchievementsHost, type AchievementsResponse, isBuilding, isScanning } from "./types";
import { YearDialog } from "./YearDialog";

interface Props {
  response: AchievementsResponse | null;
  rescan: () => void;
  host: AchievementsHost;
}

/** The head of the page: what it is, how old its figures are, and the pictures to share. */
export function Hero({ response, rescan, host }: Props) {
  const { t, language } = useMessages();
  const [open, setOpen] = useState<"profile" | "year" | null>(null);
  const scanning = response !== null && isScanning(response);
  const generatedAt = response?.generated_at ? new Date(response.generated_at * 1000) : null;
  return (
    <section className="ach-hero">
      <div>
        <p className="ach-kicker">{t("ach.kicker")}</p>
        <h1>{t("nav.achievements")}</h1>
        <p className="dim">{t("ach.about")}</p>
      </div>
      <div className="ach-hero-side">
        <div className="row">
          {response && response.unlocked_count > 0 && (
            <button className="button" onClick={() => setOpen("profile")}>
              {t("ach.profile")}
            </button>
          )}
          {response && host.insightsApi && response.unlocked_count > 0 && (
            <button className="button" onClick={() => setOpen("year")}>
              {t("ach.year")}
            </button>
          )}
          <button className="button" onClick={rescan} disabled={scanning}>
            {scanning ? t("ach.rescanning") : t("ach.rescan")}
          </button>
        </div>
        {generatedAt && !isBuilding(response!) && (
          <p className="ach-caption">
            {t("ach.asof")}{" "}
            <time dateTime={generatedAt.toISOString()}>{formatDateTime(response!.generated_at, language)}</time>
            {response!.is_stale && <> · {t("ach.updating")}</>}
          </p>
        )}
      </div>
      {open === "profile" && response && <ProfileDialog response={response} close={() => setOpen(null)} />}
      {open === "year" && response && <YearDialog host={host} response={response} close={() => setOpen(null)} />}
    </section>
  );
}
