// Changes to many sessions, a few at a time, each of which can fail by itself and be taken back.
import { saveBlob } from "@/api/download";
import { request, sendJson } from "@/api/http";
import type { Session } from "@/api/types";
import { buildFileNames, buildZip } from "@/bulk/zipFile";

const AT_ONCE = 4;

export type Changes = Partial<{ archived: boolean; trashed: boolean; tags: string[] }>;
export interface BulkResult {
  changed: Session[];
  failed: number;
  problem: string; // the first one
}

/** Runs one work per item, a few at a time. */
async function runEach<Item>(items: Item[], work: (item: Item, index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const runLane = async () => {
    for (let index = next++; index < items.length; index = next++) await work(items[index]!, index);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, runLane));
}

export async function changeSessions(
  sessions: Session[],
  buildChanges: (session: Session) => Changes,
  onProgress: (done: number) => void = () => undefined,
): Promise<BulkResult> {
  const result: BulkResult = { changed: [], failed: 0, problem: "" };
  await runEach(sessions, async (session) => {
    try {
      await sendJson("PATCH", `/api/sessions/${encodeURIComponent(session.id)}`, buildChanges(session));
      result.changed.push(session);
    } catch (error) {
      result.failed += 1;
      result.problem ||= error instanceof Error ? error.message : String(error);
    }
    onProgress(result.changed.length + result.failed);
  });
  return result;
}

const ENDINGS = { markdown: "md", html: "html", jsonl: "jsonl" } as const;
export type ExportFormat = keyof typeof ENDINGS;

/** Saves the sessions as files in one ZIP. Nothing is saved if one of them cannot be read. */
export async function exportSessions(
  sessions: Session[],
  format: ExportFormat,
  onProgress: (done: number) => void,
): Promise<void> {
  const names = buildFileNames(
    sessions.map((session) => session.id),
    ENDINGS[format],
  );
  const entries = names.map((name) => ({ name, content: new Uint8Array() }));
  let done = 0;
  await runEach(sessions, async (session, index) => {
    const response = await request(`/api/sessions/${encodeURIComponent(session.id)}/export?format=${format}`);
    entries[index]!.content = new Uint8Array(await response.arrayBuffer());
    onProgress(++done);
  });
  saveBlob(buildZip(entries), "sojourn-sessions.zip");
}
