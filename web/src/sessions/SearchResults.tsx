import { useEffect, useState } from "react";
import { getJson, isAbortError } from "@/api/http";
import type { SearchHit } from "@/api/types";
import { ErrorMessage } from "@/components/ErrorMessage";
import { HighlightedText } from "@/components/HighlightedText";
import { formatRelativeTime } from "@/i18n";
import { followLink } from "@/router";
import { useMessages } from "@/sessions/messages";
import { readableSnippet } from "@/sessions/readableSnippet";
import { countChosen, type SessionFilter, toSearchQuery } from "@/sessions/sessionFilter";
import { getSessionUrl } from "@/sessions/sessionLinks";
import { getSourceLabel } from "@/sessions/sourceLabels";
import css from "./SearchResults.module.css";

interface ResultPage {
  hits: SearchHit[];
  next: number | null;
}

const HITS_SHOWN = 3; // of one session, until the person asks for all

/** The next page with hits: where the filters match few sessions, a page before the last may be empty. */
async function fetchNextPage(url: string, before: number | null, signal?: AbortSignal): Promise<ResultPage> {
  for (;;) {
    const page = await getJson<ResultPage>(before === null ? url : `${url}&before=${before}`, signal);
    if (page.hits.length || page.next === null) return page;
    before = page.next;
  }
}

function useSearch(filter: SessionFilter) {
  const [hits, setHits] = useState<SearchHit[] | null>(null);
  const [next, setNext] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const url = `/api/search?${toSearchQuery(filter, filter.words.trim())}&limit=100`;
  useEffect(() => {
    const controller = new AbortController();
    fetchNextPage(url, null, controller.signal).then(
      (page) => {
        setHits(page.hits);
        setNext(page.next);
        setError(null);
      },
      (problem: unknown) => {
        if (!isAbortError(problem)) setError(problem);
      },
    );
    return () => controller.abort();
  }, [url]);
  const fetchMore = () =>
    void fetchNextPage(url, next).then((page) => {
      setHits((old) => [...(old ?? []), ...page.hits]);
      setNext(page.next);
    }, setError);
  return { hits, loadMore: next === null ? null : fetchMore, error };
}

/** The messages that match a search, grouped by session, with the matches highlighted. */
export function SearchResults({ filter, clear }: { filter: SessionFilter; clear: (() => void) | null }) {
  const { t } = useMessages();
  const { hits, loadMore, error } = useSearch(filter);
  if (error) return <ErrorMessage error={error} />;
  if (hits === null)
    return (
      <p className="dim" role="status">
        {t("sessions.searching")}
      </p>
    );
  if (hits.length === 0)
    return (
      <div className="empty-state">
        <p>{t(countChosen(filter) ? "sessions.results.filtered" : "sessions.results.none", { words: filter.words })}</p>
        {clear && (
          <button className="button" onClick={clear}>
            {t("filter.clear")}
          </button>
        )}
      </div>
    );
  const sessions = new Map<string, SearchHit[]>();
  for (const hit of hits) sessions.set(hit.session, [...(sessions.get(hit.session) ?? []), hit]);
  return (
    <div className={css.results}>
      <p className="dim" role="status">
        {t("sessions.results.count", { n: `${hits.length}${loadMore ? "+" : ""}`, sessions: sessions.size })}
      </p>
      <ul className={css.searchResults} aria-label={t("sessions.results")}>
        {[...sessions.values()].map((group) => (
          <ResultGroup key={group[0]!.session} hits={group} words={filter.words.trim()} />
        ))}
        {loadMore && (
          <li>
            <button className="button" onClick={loadMore}>
              {t("action.more")}
            </button>
          </li>
        )}
      </ul>
    </div>
  );
}

function ResultGroup({ hits, words }: { hits: SearchHit[]; words: string }) {
  const { t, language } = useMessages();
  const [isOpen, setIsOpen] = useState(false);
  const { session, title, source } = hits[0]!;
  const messages = hits.filter((hit) => hit.seq);
  const shown = isOpen ? messages : messages.slice(0, HITS_SHOWN);
  return (
    <li className={css.resultGroup}>
      <a className={css.hitHeader} href={getSessionUrl(session)} onClick={followLink}>
        <strong>
          {title || readableSnippet(messages[0]?.snippet.text ?? "", []).text.slice(0, 80) || t("untitled")}
        </strong>
        <span className="pill">{getSourceLabel(source)}</span>
        <span className="dim">{formatRelativeTime(hits[0]!.timestamp, language)}</span>
      </a>
      {shown.map((hit) => (
        <a key={hit.seq} className={css.hit} href={getSessionUrl(hit.session, hit.seq, words)} onClick={followLink}>
          <span className={css.hitRole}>{hit.tool_name ?? t(getRoleKey(hit.role))}</span>
          <span className={css.hitText}>
            <HighlightedText {...readableSnippet(hit.snippet.text, hit.snippet.marks)} />
          </span>
        </a>
      ))}
      {messages.length > shown.length && (
        <button className={css.hitMore} onClick={() => setIsOpen(true)}>
          {t("sessions.hits.more", { n: messages.length - shown.length })}
        </button>
      )}
    </li>
  );
}

const getRoleKey = (role: string) =>
  role === "user" ? "sessions.role.user" : role === "assistant" ? "sessions.role.assistant" : "sessions.role.other";
