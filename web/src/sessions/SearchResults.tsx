import { useEffect, useState } from "react";
import { getJson, isAbortError } from "@/api/http";
import type { SearchHit } from "@/api/types";
import { ErrorMessage } from "@/components/ErrorMessage";
import { HighlightedText } from "@/components/HighlightedText";
import { formatNumber, formatRelativeTime } from "@/i18n";
import { followLink } from "@/router";
import { useMessages } from "@/sessions/messages";
import { buildQuery, type SessionFilter } from "@/sessions/useSessions";
import css from "./sessions.module.css";

interface SearchState {
  hits: SearchHit[] | null;
  loadMore: (() => void) | null;
  error: unknown;
}

interface ResultPage {
  hits: SearchHit[];
  next: number | null;
}

/** The next page with hits: where the filters match few sessions, a page before the last may be empty. */
async function fetchNextPage(url: string, before: number | null, signal?: AbortSignal): Promise<ResultPage> {
  for (;;) {
    const page = await getJson<ResultPage>(before === null ? url : `${url}&before=${before}`, signal);
    if (page.hits.length || page.next === null) return page;
    before = page.next;
  }
}

function useSearch(filter: SessionFilter, limit: number): SearchState {
  const [hits, setHits] = useState<SearchHit[] | null>(null);
  const [next, setNext] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const address = `/api/search?${buildQuery(filter, { q: filter.text.trim(), tool: filter.tool.trim(), limit: String(limit) })}`;
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      fetchNextPage(address, null, controller.signal).then(
        (page) => {
          setHits(page.hits);
          setNext(page.next);
          setError(null);
        },
        (problem: unknown) => {
          if (!isAbortError(problem)) setError(problem);
        },
      );
    }, 150);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [address]);
  const fetchMore = () =>
    void fetchNextPage(address, next).then((page) => {
      setHits((old) => [...(old ?? []), ...page.hits]);
      setNext(page.next);
    }, setError);
  return { hits, loadMore: next === null ? null : fetchMore, error };
}

const getHitUrl = (hit: SearchHit): string =>
  `/sessions/${encodeURIComponent(hit.session)}${hit.seq ? `?at=${hit.seq}` : ""}`;

/** Whether filters may hide hits. */
const hasFilters = (filter: SessionFilter): boolean =>
  Boolean(filter.source || filter.model || filter.tag || filter.since || filter.until || filter.archived);

/** The messages that match a search, with the matches highlighted. */
export function SearchResults({ filter }: { filter: SessionFilter }) {
  const { t, language } = useMessages();
  const { hits, loadMore, error } = useSearch(filter, 50);
  if (error) return <ErrorMessage error={error} />;
  if (hits?.length === 0)
    return (
      <p className="empty-state">
        {t(hasFilters(filter) ? "sessions.results.filtered" : "sessions.results.none", { words: filter.text })}
      </p>
    );
  return (
    <ul className={css.searchResults} aria-busy={hits === null} aria-label={t("sessions.results")}>
      {hits?.map((hit, index) => (
        <li key={`${hit.session}:${hit.seq}:${index}`}>
          <a href={getHitUrl(hit)} onClick={followLink}>
            <p className={css.hitHeader}>
              <strong>{hit.title ?? hit.session}</strong> <span className="pill">{hit.source}</span>{" "}
              <span className="dim">
                {hit.tool_name ?? hit.role} · {formatRelativeTime(hit.timestamp, language)}
              </span>
            </p>
            <p className={css.hitText}>
              <HighlightedText text={hit.snippet.text} ranges={hit.snippet.marks} />
            </p>
          </a>
        </li>
      ))}
      {loadMore && (
        <li>
          <button className="button" onClick={loadMore}>
            {t("action.more")}
          </button>
        </li>
      )}
    </ul>
  );
}

/** The sessions that used a tool, latest use first, each linked to its newest call. */
export function SessionsByTool({ filter }: { filter: SessionFilter }) {
  const { t, language } = useMessages();
  const { hits, loadMore, error } = useSearch({ ...filter, text: "" }, 200);
  if (error) return <ErrorMessage error={error} />;
  if (hits?.length === 0)
    return (
      <p className="empty-state">
        {t(hasFilters(filter) ? "sessions.tool.filtered" : "sessions.tool.none", { tool: filter.tool })}
      </p>
    );
  const sessions = new Map<string, SearchHit[]>();
  for (const hit of hits ?? []) sessions.set(hit.session, [...(sessions.get(hit.session) ?? []), hit]);
  const countCalls = (sessionHits: SearchHit[]) => sessionHits.filter((hit) => hit.role === "tool").length;
  return (
    <ul className={css.searchResults} aria-busy={hits === null} aria-label={t("sessions.tool", { tool: filter.tool })}>
      {[...sessions.values()].map(([latest, ...others]) => (
        <li key={latest!.session}>
          <a href={getHitUrl(latest!)} onClick={followLink}>
            <p className={css.hitHeader}>
              <strong>{latest!.title ?? latest!.session}</strong> <span className="pill">{latest!.source}</span>{" "}
              <span className="dim">
                {t(loadMore ? "sessions.calls.more" : "sessions.calls", {
                  n: formatNumber(countCalls([latest!, ...others]), language),
                })}{" "}
                · {formatRelativeTime(latest!.timestamp, language)}
              </span>
            </p>
            <p className={css.hitText}>{latest!.snippet.text}</p>
          </a>
        </li>
      ))}
      {loadMore && (
        <li>
          <button className="button" onClick={loadMore}>
            {t("action.more")}
          </button>
        </li>
      )}
    </ul>
  );
}
