import { useQuery } from "@tanstack/react-query";
import { getJson } from "@/api/http";
import { queryClient } from "@/api/query";
import type { HealthDetail } from "@/api/schema";
import type { StoreStats } from "@/api/types";
import { ErrorMessage } from "@/components/ErrorMessage";
import { formatNumber } from "@/i18n";
import { useSentences } from "@/serverTexts/serverTexts";
import { useMessages } from "@/settings/messages";

/** Whether the store works, and its figures. */
export function HealthSection() {
  const { t, language } = useMessages();
  const translate = useSentences();
  const health = useQuery(
    { queryKey: ["health"], queryFn: ({ signal }) => getJson<HealthDetail>("/api/health", signal) },
    queryClient,
  );
  const stats = useQuery(
    { queryKey: ["stats"], queryFn: ({ signal }) => getJson<StoreStats>("/api/stats", signal) },
    queryClient,
  );
  return (
    <>
      <ErrorMessage error={health.error ?? stats.error} />
      <section className="card">
        <h2>{t("settings.health")}</h2>
        {health.data && (
          <dl className="detail-list">
            <div>
              <dt>{t("settings.state")}</dt>
              <dd>
                <span className={health.data.state === "healthy" ? "pill good" : "pill bad"}>
                  {translate(health.data.state)}
                </span>{" "}
                {health.data.error} <span className="dim">{health.data.hint}</span>
              </dd>
            </div>
            <div>
              <dt>{t("settings.store")}</dt>
              <dd className="mono">{health.data.store}</dd>
            </div>
            <div>
              <dt>{t("settings.version")}</dt>
              <dd>{health.data.version}</dd>
            </div>
          </dl>
        )}
      </section>
      <section className="card">
        <h2>{t("settings.statistics")}</h2>
        {stats.data && (
          <dl className="detail-list">
            <div>
              <dt>{t("nav.sessions")}</dt>
              <dd>{formatNumber(stats.data.sessions, language)}</dd>
            </div>
            <div>
              <dt>{t("settings.messages")}</dt>
              <dd>{formatNumber(stats.data.messages, language)}</dd>
            </div>
            <div>
              <dt>{t("settings.events")}</dt>
              <dd>{formatNumber(stats.data.events, language)}</dd>
            </div>
            <div>
              <dt>{t("settings.size")}</dt>
              <dd>{(stats.data.bytes / 1e6).toFixed(1)} MB</dd>
            </div>
          </dl>
        )}
      </section>
    </>
  );
}
