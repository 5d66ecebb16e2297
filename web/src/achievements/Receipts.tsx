import { useEffect, useState } from "react";
import { useMessages } from "@/achievements/messages";
import { Dialog } from "@/components/Dialog";
import { HighlightedText } from "@/components/HighlightedText";
import { ACHIEVEMENTS_API, type AchievementsHost, type Badge, type Receipt } from "./types";

/** A dialog with the messages that counted towards a badge. */
export function Receipts({ badge, host, close }: { badge: Badge; host: AchievementsHost; close: () => void }) {
  const { t } = useMessages();
  const [receipts, setReceipts] = useState<Receipt[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [after, setAfter] = useState("");
  const [error, setError] = useState("");
  useEffect(() => {
    const controller = new AbortController();
    host
      .fetchJson<{ receipts: Receipt[]; next: string }>(
        `${ACHIEVEMENTS_API}/achievements/${encodeURIComponent(badge.id)}/receipts?limit=20&after=${encodeURIComponent(after)}`,
        { signal: controller.signal },
      )
      .then((page) => {
        setReceipts((before) => [...before, ...page.receipts]);
        setNext(page.next);
      })
      .catch((problem: unknown) => {
        if (!controller.signal.aborted) setError(problem instanceof Error ? problem.message : String(problem));
      });
    return () => controller.abort();
  }, [badge.id, host, after]);
  return (
    <Dialog label={t("ach.receipts.title", { name: badge.name })} close={close} isWide closeLabel={t("action.close")}>
      <h2>{t("ach.receipts.title", { name: badge.name })}</h2>
      {error && <p role="alert">{error}</p>}
      {next !== null && !receipts.length && <p className="dim">{t("ach.receipts.none")}</p>}
      <ul className="ach-receipts" aria-busy={next === null && !error}>
        {receipts.map((receipt, index) => (
          <li key={`${receipt.session_id}:${receipt.row}:${index}`}>
            <p className="ach-caption">
              {host.openSession ? (
                <a
                  href={host.getSessionUrl(receipt.session_id, receipt.seq)}
                  onClick={(event) => {
                    event.preventDefault();
                    close();
                    host.openSession!(receipt.session_id, receipt.seq);
                  }}
                >
                  {receipt.title || receipt.session_id}
                </a>
              ) : (
                receipt.title || receipt.session_id
              )}
              {receipt.role && ` · ${receipt.role}`} {receipt.tools.length > 0 && ` · ${receipt.tools.join(", ")}`}
            </p>
            <p className="ach-excerpt">
              <HighlightedText text={receipt.excerpt} ranges={receipt.highlights} />
            </p>
          </li>
        ))}
      </ul>
      {next && (
        <button className="button" onClick={() => setAfter(next)}>
          {t("action.more")}
        </button>
      )}
    </Dialog>
  );
}
