import { useEffect, useState } from "react";
import { getJson, isAbortError } from "@/api/http";
import { formatNumber } from "@/i18n";
import { useMessages } from "@/sessions/messages";
import { FACETS, type FacetName, type SessionFilter, toListQuery } from "@/sessions/sessionFilter";
import { getSourceLabel } from "@/sessions/sourceLabels";
import css from "./Facets.module.css";

interface FacetValue {
  value: string;
  count: number;
}
type FacetValues = Partial<Record<FacetName, FacetValue[]>>;

interface Props {
  filter: SessionFilter;
  change: (changes: Partial<SessionFilter>) => void;
  clear: (() => void) | null;
}

const SHOWN_VALUES = 6;

/** What the sessions can be narrowed down to, each with its number of sessions. */
export function Facets({ filter, change, clear }: Props) {
  const { t } = useMessages();
  const values = useFacetValues(filter);
  const toggle = (name: FacetName, value: string) => {
    const chosen = filter.facets[name];
    const next = chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value];
    change({ facets: { ...filter.facets, [name]: next } });
  };
  return (
    <div className={css.facets}>
      {clear && (
        <button className="button" onClick={clear}>
          {t("filter.clear")}
        </button>
      )}
      {FACETS.map((name) => (
        <Facet
          key={name}
          name={name}
          values={values[name] ?? []}
          chosen={filter.facets[name]}
          toggle={(value) => toggle(name, value)}
        />
      ))}
      <fieldset className={css.facet}>
        <legend>{t("filter.date")}</legend>
        <label>
          {t("filter.since")}{" "}
          <input type="date" value={filter.since} onChange={(event) => change({ since: event.target.value })} />
        </label>
        <label>
          {t("filter.until")}{" "}
          <input type="date" value={filter.until} onChange={(event) => change({ until: event.target.value })} />
        </label>
      </fieldset>
    </div>
  );
}

function useFacetValues(filter: SessionFilter): FacetValues {
  const [values, setValues] = useState<FacetValues>({});
  const query = toListQuery(filter);
  useEffect(() => {
    const controller = new AbortController();
    getJson<{ facets: FacetValues }>(`/api/facets?${query}`, controller.signal).then(
      (page) => setValues(page.facets),
      (problem: unknown) => {
        if (!isAbortError(problem)) setValues({});
      },
    );
    return () => controller.abort();
  }, [query]);
  return values;
}

interface FacetProps {
  name: FacetName;
  values: FacetValue[];
  chosen: string[];
  toggle: (value: string) => void;
}

function Facet({ name, values, chosen, toggle }: FacetProps) {
  const { t, language } = useMessages();
  const [isOpen, setIsOpen] = useState(false);
  const missing = chosen
    .filter((value) => !values.some((found) => found.value === value))
    .map((value) => ({ value, count: 0 }));
  const all = [...missing, ...values];
  if (!all.length) return null;
  const shown = isOpen ? all : all.filter((found, index) => index < SHOWN_VALUES || chosen.includes(found.value));
  return (
    <fieldset className={css.facet}>
      <legend>{t(`filter.${name}`)}</legend>
      {shown.map(({ value, count }) => (
        <label key={value} className={css.facetValue} title={value}>
          <input type="checkbox" checked={chosen.includes(value)} onChange={() => toggle(value)} />
          <span>{name === "program" ? getSourceLabel(value) : name === "project" ? shortenPath(value) : value}</span>
          <span className="dim">{formatNumber(count, language)}</span>
        </label>
      ))}
      {all.length > shown.length && (
        <button className={css.facetMore} onClick={() => setIsOpen(true)}>
          {t("filter.more", { n: all.length - shown.length })}
        </button>
      )}
    </fieldset>
  );
}

const shortenPath = (path: string): string => path.split(/[\\/]/).filter(Boolean).slice(-2).join("/") || path;
