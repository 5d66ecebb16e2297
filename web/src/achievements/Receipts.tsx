import { useEffect, useState, type ReactNode } from "react";
import { Dialog } from "@/components/Dialog";
import { useWords } from "@/i18n";
import { BASE, type Badge, type Host, type Receipt } from "./types";

/** The very messages that counted. */
export function Receipts({ badge, host, close }: { badge: Badge; host: Host; close: () => void }) {
  const { t } = useWords();
  const [found, setFound] = useState<Receipt[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [after, setAfter] = useState("");
  const [error, setError] = useState("");
  useEffect(() => {
    const asked = new AbortController();
    host
      .fetchJson<{ receipts: Receipt[]; next: string }>(`${BASE}/achievements/${encodeURIComponent(badge.id)}/receipts?limit=20&after=${encodeURIComponent(after)}`, { signal: asked.signal })
      .then((page) => {
        setFound((before) => [...before, ...page.receipts]);
        setNext(page.next);
      })
      .catch((problem: unknown) => { if (!asked.signal.aborted) setError(problem instanceof Error ? problem.message : String(problem)); });
    return () => asked.abort();
  }, [badge.id, host, after]);
  return (
    <Dialog label={t("ach.receipts.title", { name: badge.name })} close={close} wide closeLabel={t("action.close")}>
      <h2>{t("ach.receipts.title", { name: badge.name })}</h2>
      {error && <p role="alert">{error}</p>}
      {next !== null && !found.length && <p className="dim">{t("ach.receipts.none")}</p>}
      <ul className="ach-receipts" aria-busy={next === null && !error}>
        {found.map((one, index) => (
          <li key={`${one.session_id}:${one.row}:${index}`}>
            <p className="ach-micro">
              {host.openSession ? <a href={host.sessionAddress(one.session_id)} onClick={(event) => { event.preventDefault(); close(); host.openSession!(one.session_id); }}>{one.title || one.session_id}</a> : one.title || one.session_id}
              {one.role && ` · ${one.role}`} {one.tools.length > 0 && ` · ${one.tools.join(", ")}`}
            </p>
            <p className="ach-excerpt">{marked(one.excerpt, one.highlights)}</p>
          </li>
        ))}
      </ul>
      {next && <button className="button" onClick={() => setAfter(next)}>{t("action.more")}</button>}
    </Dialog>
  );
}

export function marked(text: string, marks: Array<[number, number]>): ReactNode[] {
  const letters = Array.from(text); // marks count characters, not UTF-16 units
  const shown: ReactNode[] = [];
  let at = 0;
  for (const [from, to] of marks) {
    if (from < at) continue;
    shown.push(letters.slice(at, from).join(""), <mark key={from}>{letters.slice(from, to).join("")}</mark>);
    at = to;
  }
  shown.push(letters.slice(at).join(""));
  return shown;
}
