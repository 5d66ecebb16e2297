import { useCallback, useEffect, useState } from "react";
import { getJson, isAbortError, sendJson } from "@/api/http";
import { type MessageKey, useMessages } from "@/approvals/messages";
import { revealText } from "@/chat/exactText";
import { ErrorMessage } from "@/components/ErrorMessage";
import css from "./approvals.module.css";

interface Approval {
  id: string;
  choice: "session" | "always";
  tool: string;
  scope: "sandbox" | "network" | "outside";
  covers: "exact" | "tool";
  text: string;
  by: string;
  session_id: string | null;
  given_at: string;
}

const SCOPE_LABELS: Record<Approval["scope"], MessageKey> = {
  sandbox: "approvals.sandbox",
  network: "approvals.network",
  outside: "approvals.outside",
};

/** What the owner allowed for longer than once. Revoking is in force at once, in running turns too. */
export function LastingApprovals() {
  const { t, language } = useMessages();
  const [approvals, setApprovals] = useState<Approval[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const load = useCallback(
    (signal?: AbortSignal) =>
      getJson<{ approvals: Approval[] }>("/api/approvals", signal).then((page) => setApprovals(page.approvals)),
    [],
  );
  useEffect(() => {
    const controller = new AbortController();
    load(controller.signal).catch((problem: unknown) => {
      if (!isAbortError(problem)) setError(problem);
    });
    return () => controller.abort();
  }, [load]);
  const revoke = (path: string) => {
    setError(null);
    sendJson("DELETE", path)
      .then(() => load())
      .catch(setError);
  };
  return (
    <section className="card" aria-label={t("approvals.title")}>
      <h2>{t("approvals.title")}</h2>
      <ErrorMessage error={error} />
      {approvals?.length === 0 && <p className="dim">{t("approvals.none")}</p>}
      {approvals && approvals.length > 0 && (
        <>
          <ul className={css.approvalList}>
            {approvals.map((one) => (
              <li key={one.id}>
                <div>
                  <strong>{one.tool}</strong>{" "}
                  <span className="pill">{t(one.choice === "always" ? "approvals.always" : "approvals.session")}</span>{" "}
                  <span className="dim">{t(SCOPE_LABELS[one.scope])}</span>
                  {one.covers === "exact" ? <code>{revealText(one.text)}</code> : <p>{t("approvals.tool")}</p>}
                  <p className="dim">
                    {new Date(one.given_at).toLocaleString(language)} · {one.by}
                    {one.session_id ? ` · ${one.session_id}` : ""}
                  </p>
                </div>
                <button
                  className="button danger"
                  aria-label={`${t("approvals.revoke")}: ${one.tool}`}
                  onClick={() => revoke(`/api/approvals/${encodeURIComponent(one.id)}`)}
                >
                  {t("approvals.revoke")}
                </button>
              </li>
            ))}
          </ul>
          {approvals.length > 1 && (
            <button className="button danger" onClick={() => revoke("/api/approvals")}>
              {t("approvals.revokeall")}
            </button>
          )}
        </>
      )}
    </section>
  );
}
