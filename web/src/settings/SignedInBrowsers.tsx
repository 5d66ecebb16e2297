import { useEffect, useState } from "react";
import { getJson, isAbortError, sendJson } from "@/api/http";
import { ErrorMessage } from "@/components/ErrorMessage";
import { formatDateTime, formatRelativeTime } from "@/i18n";
import { useMessages } from "@/settings/messages";

interface SignedInBrowser {
  id: string;
  browser: string;
  address: string;
  since: string;
  last_seen: string;
  until: string;
  current: boolean;
}

/** The browsers that are signed in, each with a button that signs it out. */
export function SignedInBrowsers() {
  const { t, language } = useMessages();
  const [browsers, setBrowsers] = useState<SignedInBrowser[]>([]);
  const [error, setError] = useState<unknown>(null);
  const load = (signal?: AbortSignal) =>
    getJson<SignedInBrowser[]>("/api/browsers", signal).then(setBrowsers, (problem: unknown) => {
      if (!isAbortError(problem)) setError(problem);
    });
  useEffect(() => {
    const controller = new AbortController();
    void load(controller.signal);
    return () => controller.abort();
  }, []);
  const signOut = (browser: SignedInBrowser) =>
    sendJson("DELETE", `/api/browsers/${browser.id}`).then(() => load(), setError);
  return (
    <section className="card" aria-labelledby="browsers-heading">
      <h2 id="browsers-heading">{t("browsers.title")}</h2>
      <p className="dim">
        {t("browsers.hint")} <code>sojourn token rotate</code>
      </p>
      <ErrorMessage error={error} />
      <ul className="item-list">
        {browsers.map((browser) => (
          <li key={browser.id}>
            <div className="grow">
              <p className="row">
                <strong>{browser.browser}</strong>{" "}
                {browser.current && <span className="pill good">{t("browsers.current")}</span>}
              </p>
              <p className="dim">
                {t("browsers.details", {
                  address: browser.address,
                  since: formatDateTime(browser.since, language),
                  seen: formatRelativeTime(browser.last_seen, language),
                })}
              </p>
            </div>
            {!browser.current && (
              <button
                className="button"
                aria-label={t("browsers.signoutone", { browser: browser.browser })}
                onClick={() => void signOut(browser)}
              >
                {t("browsers.signout")}
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
