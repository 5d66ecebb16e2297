import { useEffect, useState } from "react";
import { sendJson } from "@/api/http";
import type { AnswerSchema } from "@/api/schema";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { followLink } from "@/router";
import { useMessages } from "@/sessions/messages";
import { getSessionUrl } from "@/sessions/sessionLinks";
import css from "./AskHistory.module.css";

/** Answers the words in the search box as a question: an answer, and the quotes it stands on, each a link. */
export function AskHistory({ words }: { words: string }) {
  const { t } = useMessages();
  const [answer, setAnswer] = useState<AnswerSchema | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    setAnswer(null);
    setError(null);
  }, [words]);
  const ask = () => {
    setIsBusy(true);
    sendJson<AnswerSchema>("POST", "/api/ask", { question: words })
      .then(setAnswer, setError)
      .finally(() => setIsBusy(false));
  };
  return (
    <div className={css.askHistory}>
      {!answer && (
        <button className="button" disabled={isBusy} onClick={ask}>
          <Icon name="search" size={16} /> {t(isBusy ? "sessions.asking" : "sessions.ask")}
        </button>
      )}
      <ErrorMessage error={error} />
      {answer && (
        <section className={css.historyAnswer} aria-label={t("sessions.answer")}>
          <p>{answer.text}</p>
          <ol>
            {answer.quotes.map((quote) => (
              <li key={`${quote.session}:${quote.seq}`}>
                <a
                  className={css.historyQuote}
                  href={getSessionUrl(quote.session, quote.seq, words)}
                  onClick={followLink}
                >
                  “{quote.text}”
                </a>
                <span className="dim">
                  {quote.title || t("untitled")}, {quote.day}
                </span>
              </li>
            ))}
          </ol>
        </section>
      )}
    </div>
  );
}
