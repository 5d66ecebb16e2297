import { useEffect, useState } from "react";
import { getJson, wasAborted } from "@/api/http";
import type { Hit } from "@/api/types";
import { marked } from "@/achievements/Receipts";
import { Trouble } from "@/components/Trouble";
import { ago, count, useWords } from "@/i18n";
import { follow } from "@/router";
import { query, type Wanted } from "@/sessions/useSessions";

interface Found {
  hits: Hit[] | null;
  more: (() => void) | null;
  error: unknown;
}

interface Page {
  hits: Hit[];
  next: number | null;
}

/** The next page that has something in it: where few of many sessions fit, one may come back empty before the end. */
async function ask(address: string, before: number | null, signal?: AbortSignal): Promise<Page> {
  for (;;) {
    const page = await getJson<Page>(before === null ? address : `${address}&before=${before}`, signal);
    if (page.hits.length || page.next === null) return page;
    before = page.next;
  }
}

function useHits(wanted: Wanted, limit: number): Found {
  const [hits, setHits] = useState<Hit[] | null>(null);
  const [next, setNext] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const address = `/api/search?${query(wanted, { q: wanted.text.trim(), tool: wanted.tool.trim(), limit: String(limit) })}`;
  useEffect(() => {
    const asked = new AbortController();
    const timer = setTimeout(() => {
      ask(address, null, asked.signal).then(
        (page) => { setHits(page.hits); setNext(page.next); setError(null); },
        (problem: unknown) => { if (!wasAborted(problem)) setError(problem); },
      );
    }, 150);
    return () => {
      clearTimeout(timer);
      asked.abort();
    };
  }, [address]);
  const more = () => void ask(address, next).then((page) => { setHits((old) => [...(old ?? []), ...page.hits]); setNext(page.next); }, setError);
  return { hits, more: next === null ? null : more, error };
}

const placeOf = (hit: Hit): string => `/sessions/${encodeURIComponent(hit.session)}${hit.seq ? `?at=${hit.seq}` : ""}`;

/** Whether filters may hide what would be found without them. */
const isNarrow = (wanted: Wanted): boolean => Boolean(wanted.source || wanted.model || wanted.tag || wanted.since || wanted.until || wanted.archived);

/** What was said, with the words that were looked for marked in it. */
export function Hits({ wanted }: { wanted: Wanted }) {
  const { t, language } = useWords();
  const { hits, more, error } = useHits(wanted, 50);
  if (error) return <Trouble error={error} />;
  if (hits?.length === 0) return <p className="empty">{t(isNarrow(wanted) ? "sessions.nohitsfit" : "sessions.nohits", { words: wanted.text })}</p>;
  return (
    <ul className="hits" aria-busy={hits === null} aria-label={t("sessions.hits")}>
      {hits?.map((hit, index) => (
        <li key={`${hit.session}:${hit.seq}:${index}`}>
          <a href={placeOf(hit)} onClick={follow}>
            <p className="hit-head"><strong>{hit.title ?? hit.session}</strong> <span className="pill">{hit.source}</span> <span className="dim">{hit.tool_name ?? hit.role} · {ago(hit.timestamp, language)}</span></p>
            <p className="hit-text">{marked(hit.snippet.text, hit.snippet.marks)}</p>
          </a>
        </li>
      ))}
      {more && <li><button className="button" onClick={more}>{t("action.more")}</button></li>}
    </ul>
  );
}

/** The sessions that used a tool, the one that did so last first, each leading to its newest call. */
export function ByTool({ wanted }: { wanted: Wanted }) {
  const { t, language } = useWords();
  const { hits, more, error } = useHits({ ...wanted, text: "" }, 200);
  if (error) return <Trouble error={error} />;
  if (hits?.length === 0) return <p className="empty">{t(isNarrow(wanted) ? "sessions.nocallsfit" : "sessions.nocalls", { tool: wanted.tool })}</p>;
  const sessions = new Map<string, Hit[]>();
  for (const hit of hits ?? []) sessions.set(hit.session, [...(sessions.get(hit.session) ?? []), hit]);
  const calls = (found: Hit[]) => found.filter((one) => one.role === "tool").length;
  return (
    <ul className="hits" aria-busy={hits === null} aria-label={t("sessions.bytool", { tool: wanted.tool })}>
      {[...sessions.values()].map((found) => (
        <li key={found[0]!.session}>
          <a href={placeOf(found[0]!)} onClick={follow}>
            <p className="hit-head"><strong>{found[0]!.title ?? found[0]!.session}</strong> <span className="pill">{found[0]!.source}</span> <span className="dim">{t(more ? "sessions.morecalls" : "sessions.calls", { n: count(calls(found), language) })} · {ago(found[0]!.timestamp, language)}</span></p>
            <p className="hit-text">{found[0]!.snippet.text}</p>
          </a>
        </li>
      ))}
      {more && <li><button className="button" onClick={more}>{t("action.more")}</button></li>}
    </ul>
  );
}
