// The only file that talks to the server about a conversation.
import { ApiError, getJson, request, sendJson, wasAborted } from "@/api/http";
import { frames } from "@/api/sse";
import type { Message, RuntimeInfo, Session } from "@/api/types";
import { decode, type ChatEvent } from "@/chat/events";

export interface Attached {
  hash: string;
  name: string;
  media_type: string;
  size: number;
}

/** What a runtime recorded about its work in one turn. */
export interface Observation {
  type: "observation";
  runtime: string;
  turn: string;
  kind: string;
  data: Record<string, unknown>;
}

export interface Wish {
  message: string;
  attachments: Attached[];
  runtime: string;
  model: string;
  template: string;
}

const at = (session: string) => `/api/sessions/${encodeURIComponent(session)}`;
const RETRY = [250, 500, 1000, 2000, 4000];

export const conversationApi = {
  /** Everything that happens in a session after a number, for as long as `signal` lets it. A line that breaks is taken up again
   * from the last number that was seen, so nothing is lost or told twice. */
  async *chatStream(session: string, after: number, signal: AbortSignal, told: (connected: boolean) => void): AsyncGenerator<ChatEvent> {
    let seen = after;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const headers = { Accept: "text/event-stream", "Last-Event-ID": String(seen) };
        for await (const frame of frames(`${at(session)}/events?include=messages`, { headers, signal })) {
          told(true);
          failures = 0;
          if (frame.id === null || frame.id <= seen) continue;
          const event = decode(frame.event, frame.id, frame.data);
          seen = frame.id;
          if (event) yield event;
        }
      } catch (error) {
        if (wasAborted(error) || signal.aborted) return;
        if (error instanceof ApiError && error.status >= 400 && error.status < 500) throw error;
      }
      told(false);
      await pause(RETRY[Math.min(failures++, RETRY.length - 1)]!, signal);
    }
  },

  session: (session: string, signal?: AbortSignal) => getJson<Session>(at(session), signal),
  running: async (session: string, signal?: AbortSignal) => (await getJson<{ turn_id: string | null }>(`${at(session)}/turns/running`, signal)).turn_id,

  /** What runtimes recorded about their work in a session, oldest first. */
  async observations(session: string, signal?: AbortSignal): Promise<Observation[]> {
    const found: { attachments: Array<Observation | { type: "file" }> } = await getJson(`${at(session)}/attachments`, signal);
    return found.attachments.filter((one): one is Observation => one.type === "observation");
  },

  async messages(session: string, signal?: AbortSignal, most = 5000): Promise<Message[]> {
    const found: Message[] = [];
    let next: number | null = 0;
    while (next !== null && found.length < most) {
      const page: { messages: Message[]; next: number | null } = await getJson(`${at(session)}/messages?limit=1000&after=${next}`, signal);
      found.push(...page.messages);
      next = page.next;
    }
    return found;
  },

  begin: (runtime: string, model: string) => sendJson<Session>("POST", "/api/sessions", { source: "web", runtime, ...(model ? { model } : {}) }),

  say(session: string, wish: Wish, key: string): Promise<{ turn_id: string; after: number }> {
    const { message, runtime, model, template } = wish;
    const attachments = wish.attachments.map(({ hash, name }) => ({ hash, name }));
    return sendJson("POST", `${at(session)}/turns`, { message, runtime, model, template, attachments, when_busy: "wait" }, { "Idempotency-Key": key });
  },

  stop: (session: string) => sendJson<{ stopped: boolean }>("POST", `${at(session)}/turns/running/stop`),
  approve: (session: string, question: string, choice: string) => sendJson<void>("POST", `${at(session)}/turns/running/approval`, { question, choice }),
  take: (session: string) => sendJson<Session>("POST", `${at(session)}/take`),
  undo: (session: string) => sendJson<{ hidden: number }>("POST", `${at(session)}/undo`),
  runtimes: (signal?: AbortSignal) => getJson<RuntimeInfo[]>("/api/runtimes", signal),

  async attach(session: string, file: File): Promise<Attached> {
    const headers = { "Content-Type": file.type || "application/octet-stream" };
    const answer = await request(`${at(session)}/attachments?name=${encodeURIComponent(file.name)}`, { method: "POST", headers, body: file });
    return (await answer.json()) as Attached;
  },

  picture: (session: string, hash: string) => `${at(session)}/attachments/${hash}`,
};

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
  });
}
