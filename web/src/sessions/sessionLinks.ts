// How a session is called on screen, and where it is opened.
import type { Session } from "@/api/types";

export const getSessionLabel = (session: Pick<Session, "id" | "title" | "preview">): string =>
  session.title ?? (session.preview || session.id);

/** The address of a session, at one of its messages, with the words that led there. */
export function getSessionUrl(id: string, seq?: number | null, words?: string): string {
  const query = new URLSearchParams();
  if (seq) query.set("at", String(seq));
  if (seq && words) query.set("q", words);
  const search = query.toString();
  return `/chat/${encodeURIComponent(id)}${search ? `?${search}` : ""}`;
}

/** Where a branch left its session: `<session>:<seq>`. */
export function getBranchUrl(origin: string): string {
  const colon = origin.lastIndexOf(":");
  return getSessionUrl(origin.slice(0, colon), Number(origin.slice(colon + 1)));
}
