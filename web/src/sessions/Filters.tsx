import { useEffect, useState } from "react";
import { getJson } from "@/api/http";
import type { Stats } from "@/api/types";
import { Icon } from "@/components/Icon";
import { useWords } from "@/i18n";
import type { Wanted } from "@/sessions/useSessions";

export function Filters({ wanted, change }: { wanted: Wanted; change: (some: Partial<Wanted>) => void }) {
  const { t } = useWords();
  const [sources, setSources] = useState<string[]>([]);
  const [open, setOpen] = useState(false); // on a phone; elsewhere there is room for them
  useEffect(() => {
    const leaving = new AbortController();
    getJson<Stats>("/api/stats", leaving.signal).then((stats) => setSources(Object.keys(stats.sessions_by_source)), () => undefined);
    return () => leaving.abort();
  }, []);
  const words = (key: "model" | "tag" | "tool") => (
    <input className="filter" placeholder={t(`filter.${key}`)} aria-label={t(`filter.${key}`)} value={wanted[key]} onChange={(event) => change({ [key]: event.target.value })} />
  );
  const used = [wanted.source, wanted.model, wanted.tag, wanted.tool, wanted.since, wanted.until, wanted.archived].filter(Boolean).length;
  const date = (key: "since" | "until") => <label className="dim">{t(`filter.${key}`)} <input type="date" aria-label={t(`filter.${key}`)} value={wanted[key]} onChange={(event) => change({ [key]: event.target.value })} /></label>;
  return (
    <>
      <button type="button" className="button filters-button" aria-expanded={open} onClick={() => setOpen(!open)}><Icon name="list" size={16} /> {t("filter.title")}{used > 0 && <span className="pill">{used}</span>}</button>
      <div className={open ? "row filters open" : "row filters"}>
        <select aria-label={t("filter.source")} value={wanted.source} onChange={(event) => change({ source: event.target.value })}>
          <option value="">{t("filter.source")}</option>
          {sources.map((one) => <option key={one}>{one}</option>)}
        </select>
        {words("model")} {words("tag")} {words("tool")}
        {date("since")} {date("until")}
        <select aria-label={t("filter.archived")} value={wanted.archived} onChange={(event) => change({ archived: event.target.value as Wanted["archived"] })}>
          <option value="">{t("filter.archived")}</option>
          <option value="no">{t("filter.archived.no")}</option>
          <option value="yes">{t("filter.archived.yes")}</option>
          <option value="any">{t("filter.archived.any")}</option>
        </select>
      </div>
    </>
  );
}
