import { useEffect, useState } from "react";
import { getJson } from "@/api/http";
import type { StoreStats } from "@/api/types";
import { Icon } from "@/components/Icon";
import { useMessages } from "@/sessions/messages";
import type { SessionFilter } from "@/sessions/useSessions";
import css from "./sessions.module.css";

export function SessionFilters({
  filter,
  onChange,
}: {
  filter: SessionFilter;
  onChange: (changes: Partial<SessionFilter>) => void;
}) {
  const { t } = useMessages();
  const [sources, setSources] = useState<string[]>([]);
  const [isOpen, setIsOpen] = useState(false); // only matters on a phone; a wide screen shows them always
  useEffect(() => {
    const controller = new AbortController();
    getJson<StoreStats>("/api/stats", controller.signal).then(
      (stats) => setSources(Object.keys(stats.sessions_by_source)),
      () => undefined,
    );
    return () => controller.abort();
  }, []);
  const renderTextInput = (key: "model" | "tag" | "tool") => (
    <input
      className={css.filter}
      placeholder={t(`filter.${key}`)}
      aria-label={t(`filter.${key}`)}
      value={filter[key]}
      onChange={(event) => onChange({ [key]: event.target.value })}
    />
  );
  const activeFilters = [
    filter.source,
    filter.model,
    filter.tag,
    filter.tool,
    filter.since,
    filter.until,
    filter.archived,
  ].filter(Boolean).length;
  const renderDateInput = (key: "since" | "until") => (
    <label className="dim">
      {t(`filter.${key}`)}{" "}
      <input
        type="date"
        aria-label={t(`filter.${key}`)}
        value={filter[key]}
        onChange={(event) => onChange({ [key]: event.target.value })}
      />
    </label>
  );
  return (
    <>
      <button
        type="button"
        className={`button ${css.filtersButton}`}
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        <Icon name="list" size={16} /> {t("filter.title")}
        {activeFilters > 0 && <span className="pill">{activeFilters}</span>}
      </button>
      <div className={isOpen ? `row ${css.filters} ${css.open}` : `row ${css.filters}`}>
        <select
          aria-label={t("filter.source")}
          value={filter.source}
          onChange={(event) => onChange({ source: event.target.value })}
        >
          <option value="">{t("filter.source")}</option>
          {sources.map((source) => (
            <option key={source}>{source}</option>
          ))}
        </select>
        {renderTextInput("model")} {renderTextInput("tag")} {renderTextInput("tool")}
        {renderDateInput("since")} {renderDateInput("until")}
        <select
          aria-label={t("filter.archived")}
          value={filter.archived}
          onChange={(event) => onChange({ archived: event.target.value as SessionFilter["archived"] })}
        >
          <option value="">{t("filter.archived")}</option>
          <option value="no">{t("filter.archived.no")}</option>
          <option value="yes">{t("filter.archived.yes")}</option>
          <option value="any">{t("filter.archived.any")}</option>
        </select>
      </div>
    </>
  );
}
