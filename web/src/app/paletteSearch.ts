import { useEffect, useState } from "react";
import { getJson } from "@/api/http";
import type { SearchHit, Session } from "@/api/types";
import type { IconName } from "@/components/Icon";
import { readableSnippet } from "@/sessions/readableSnippet";
import { getSessionLabel, getSessionUrl } from "@/sessions/sessionLinks";
import { getSourceLabel } from "@/sessions/sourceLabels";

export interface Choice {
  id: string;
  icon: IconName;
  label: string;
  hint?: string;
  to?: string;
  run?: () => void;
}

/** What a question about the typed words returned; nothing while it is asked or when it fails. */
function useFound<T>(words: string, url: string, read: (answer: T) => Choice[]): Choice[] {
  const [choices, setChoices] = useState<Choice[]>([]);
  useEffect(() => {
    if (!words) return setChoices([]);
    const controller = new AbortController();
    const timer = setTimeout(() => {
      getJson<T>(url, controller.signal).then(
        (answer) => setChoices(read(answer)),
        () => {
          if (!controller.signal.aborted) setChoices([]);
        },
      );
    }, 120);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [words, url]);
  return choices;
}

export const useFoundSessions = (words: string): Choice[] =>
  useFound<{ sessions: Session[] }>(words, `/api/sessions?limit=6&text=${encodeURIComponent(words)}`, ({ sessions }) =>
    sessions.map((session) => ({
      id: session.id,
      icon: "chat",
      label: getSessionLabel(session),
      hint: getSourceLabel(session.source),
      to: getSessionUrl(session.id),
    })),
  );

export const useFoundMessages = (words: string): Choice[] =>
  useFound<{ hits: SearchHit[] }>(words, `/api/search?limit=5&q=${encodeURIComponent(words)}`, ({ hits }) =>
    hits
      .filter((hit) => hit.seq)
      .map((hit) => ({
        id: `${hit.session}:${hit.seq}`,
        icon: "file",
        label: readableSnippet(hit.snippet.text, []).text,
        hint: hit.title ?? "",
        to: getSessionUrl(hit.session, hit.seq, words),
      })),
  );
