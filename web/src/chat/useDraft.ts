import { useEffect, useState } from "react";

const getStorageName = (id: string) => `sojourn.draft.${id || "new"}`;

/** Forgets a draft whose box is about to go. */
export const forgetDraft = (id: string): void => localStorage.removeItem(getStorageName(id));

/** What was written and not sent yet, kept for each conversation over navigation, reload and restart. */
export function useDraft(id: string): [string, (text: string) => void] {
  const asked = new URLSearchParams(location.search).get("say"); // a link may propose what to write
  const [text, setText] = useState(() => asked ?? localStorage.getItem(getStorageName(id)) ?? "");
  useEffect(() => {
    if (text) localStorage.setItem(getStorageName(id), text);
    else localStorage.removeItem(getStorageName(id));
  }, [id, text]);
  return [text, setText];
}
