import { useEffect, useState } from "react";
import { getJson } from "@/api/http";
import type { Stats } from "@/api/types";
import { useWords } from "@/i18n";
import type { Wanted } from "@/sessions/useSessions";

export function Filters({ wanted, change }: { wanted: Wanted; change: (some: Partial<Wanted>) => void }) {
  const { t } = useWords();
  const [sources, setSources] = useState<string[]>([]);
  useEffect(() => {
    const leaving = new AbortController();
    getJson<Stats>("/api/stats", leaving.signal).then((stats) => setSources(Object.keys(stats.sessions_by_source)), () => undefined);
    return () => leaving.abort();
  }, []);
  const searching = Boolean(wanted.text.trim() || wanted.tool.trim()); // what was said knows no model, tag or archive
  const aside = (off: boolean) => ({ disabled: off, title: off ? t("filter.nosearch") : undefined });
  const words = (key: "model" | "tag" | "tool") => (
    <input className="filter" placeholder={t(`filter.${key}`)} aria-label={t(`filter.${key}`)} value={wanted[key]} onChange={(event) => change({ [key]: event.target.value })} {...aside(searching && key !== "tool")} />
  );
  return (
    <div className="row filters">
      <select aria-label={t("filter.source")} value={wanted.source} onChange={(event) => change({ source: event.target.value })}>
        <option value="">{t("filter.source")}</option>
        {sources.map((one) => <option key={one}>{one}</option>)}
      </select>
      {words("model")} {words("tag")} {words("tool")}
      <input type="date" aria-label={t("filter.since")} title={t("filter.since")} value={wanted.since} onChange={(event) => change({ since: event.target.value })} />
      <input type="date" aria-label={t("filter.until")} title={t("filter.until")} value={wanted.until} onChange={(event) => change({ until: event.target.value })} />
      <select aria-label={t("filter.archived")} {...aside(searching)} value={wanted.archived} onChange={(event) => change({ archived: event.target.value as Wanted["archived"] })}>
        <option value="no">{t("filter.archived.no")}</option>
        <option value="yes">{t("filter.archived.yes")}</option>
        <option value="any">{t("filter.archived.any")}</option>
      </select>
    </div>
  );
}
