import { useEffect, useState } from "react";
import { getJson, wasAborted } from "@/api/http";
import type { Hit } from "@/api/types";
import { marked } from "@/achievements/Receipts";
import { Trouble } from "@/components/Trouble";
import { ago, useWords } from "@/i18n";
import { follow } from "@/router";
import { query, type Wanted } from "@/sessions/useSessions";

/** What was said, with the words that were looked for marked in it. */
export function Hits({ wanted }: { wanted: Wanted }) {
  const { t, language } = useWords();
  const [hits, setHits] = useState<Hit[] | null>(null);
  const [next, setNext] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const address = `/api/search?${query({ ...wanted, model: "", tag: "", archived: "" as "no" }, { q: wanted.text, tool: wanted.tool, limit: "50" })}`;
  useEffect(() => {
    const asked = new AbortController();
    const timer = setTimeout(() => {
      getJson<{ hits: Hit[]; next: number | null }>(address, asked.signal).then(
        (page) => { setHits(page.hits); setNext(page.next); setError(null); },
        (problem: unknown) => { if (!wasAborted(problem)) setError(problem); },
      );
    }, 150);
    return () => {
      clearTimeout(timer);
      asked.abort();
    };
  }, [address]);
  const more = () => getJson<{ hits: Hit[]; next: number | null }>(`${address}&before=${next}`).then((page) => { setHits((old) => [...(old ?? []), ...page.hits]); setNext(page.next); }, setError);
  if (error) return <Trouble error={error} />;
  if (hits?.length === 0) return <p className="empty">{t("sessions.nohits", { words: wanted.text })}</p>;
  return (
    <ul className="hits" aria-busy={hits === null} aria-label={t("sessions.hits")}>
      {hits?.map((hit, index) => (
        <li key={`${hit.session}:${hit.seq}:${index}`}>
          <a href={`/sessions/${encodeURIComponent(hit.session)}${hit.seq ? `?at=${hit.seq}` : ""}`} onClick={follow}>
            <p className="hit-head"><strong>{hit.title ?? hit.session}</strong> <span className="pill">{hit.source}</span> <span className="dim">{hit.tool_name ?? hit.role} · {ago(hit.timestamp, language)}</span></p>
            <p className="hit-text">{marked(hit.snippet.text, hit.snippet.marks)}</p>
          </a>
        </li>
      ))}
      {next !== null && <li><button className="button" onClick={() => void more()}>{t("action.more")}</button></li>}
    </ul>
  );
}
