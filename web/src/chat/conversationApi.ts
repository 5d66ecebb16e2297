// The HTTP client for conversations: sessions, messages, turns and their event stream.
import { ApiError, getJson, isAbortError, sendJson } from "@/api/http";
import { streamFrames } from "@/api/sse";
import type { ChatCommand, CommandAnswer, Message, RuntimeInfo, Session } from "@/api/types";
import { uploadFile } from "@/api/upload";
import { type ChatEvent, parseEvent } from "@/chat/chatEvents";

export interface Attachment {
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

/** A turn that runs, or waits for the one before it. */
export interface OpenTurn {
  turn_id: string;
  state: "running" | "queued";
  message: string;
}

export interface TurnRequest {
  message: string;
  attachments: Attachment[];
  runtime: string;
  model: string;
  template: string;
}

const getSessionUrl = (session: string) => `/api/sessions/${encodeURIComponent(session)}`;
const PROMPTS_API = "/api/plugins/dashboard/prompts";
const SILENCE_MS = 2000;
const RETRY_MS = [250, 500, 1000, 2000, 4000];

/** Hears how far an upload is, from 0 to 1. */
export type ReportUpload = (part: number) => void;

/** What a lasting yes is for: this exact text, or every call of the tool in its scope. */
export type Covers = "exact" | "tool";

export const conversationApi = {
  /** The events of a session after a seq, until `signal` aborts. A broken connection is resumed after the last seq received, so
   * no event is lost or repeated. `onConnection` hears whether the stream is connected. */
  async *chatStream(
    session: string,
    after: number,
    signal: AbortSignal,
    onConnection: (connected: boolean) => void,
  ): AsyncGenerator<ChatEvent> {
    let lastSeq = after;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const headers = { Accept: "text/event-stream", "Last-Event-ID": String(lastSeq) };
        for await (const frame of streamFrames(`${getSessionUrl(session)}/events?include=messages`, {
          headers,
          signal,
        })) {
          onConnection(true);
          failures = 0;
          if (frame.id === null || frame.id <= lastSeq) continue;
          const event = parseEvent(frame.event, frame.id, frame.data);
          lastSeq = frame.id;
          if (event) yield event;
        }
      } catch (error) {
        if (isAbortError(error) || signal.aborted) return;
        if (error instanceof ApiError && error.status >= 400 && error.status < 500) throw error;
      }
      onConnection(false);
      await sleep(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]!, signal);
    }
  },

  getSession: (session: string, signal?: AbortSignal) => getJson<Session>(getSessionUrl(session), signal),
  getRunningTurn: async (session: string, signal?: AbortSignal) =>
    (await getJson<{ turn_id: string | null }>(`${getSessionUrl(session)}/turns/running`, signal)).turn_id,

  /** What runtimes recorded about their work in a session, oldest first. */
  async listObservations(session: string, signal?: AbortSignal): Promise<Observation[]> {
    const response: { attachments: Array<Observation | { type: "file" }> } = await getJson(
      `${getSessionUrl(session)}/attachments`,
      signal,
    );
    return response.attachments.filter((attachment): attachment is Observation => attachment.type === "observation");
  },

  /** The newest messages, in ascending order. */
  readNewest: (session: string, limit: number, signal?: AbortSignal) =>
    getJson<{ messages: Message[] }>(`${getSessionUrl(session)}/messages?newest=true&limit=${limit}`, signal),

  /** The log entries after a number, up to and including another one that is in the log. */
  async readLog(session: string, after: number, upTo: number, signal: AbortSignal): Promise<ChatEvent[]> {
    const events: ChatEvent[] = [];
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal.addEventListener("abort", abort, { once: true });
    let timer = setTimeout(abort, SILENCE_MS); // nothing more comes: the last entries were folded into others
    try {
      const url = `${getSessionUrl(session)}/events?include=messages&after=${after}`;
      for await (const frame of streamFrames(url, { signal: controller.signal })) {
        clearTimeout(timer);
        timer = setTimeout(abort, SILENCE_MS);
        if (frame.id === null || frame.id > upTo) break;
        const event = parseEvent(frame.event, frame.id, frame.data);
        if (event) events.push(event);
        if (frame.id === upTo) break;
      }
    } catch (error) {
      if (signal.aborted || !isAbortError(error)) throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
    return events;
  },

  createSession: (runtime: string, model: string) =>
    sendJson<Session>("POST", "/api/sessions", { source: "web", runtime, ...(model ? { model } : {}) }),

  startTurn(session: string, request: TurnRequest): Promise<{ turn_id: string; after: number }> {
    const { message, runtime, model, template } = request;
    const attachments = request.attachments.map(({ hash, name }) => ({ hash, name }));
    return sendJson(
      "POST",
      `${getSessionUrl(session)}/turns`,
      { message, runtime, model, template, attachments, when_busy: "wait" },
      { "Idempotency-Key": buildIdempotencyKey() },
    );
  },

  /** A session of its own with the log up to and including a number. */
  branchSession: (session: string, at: number) => sendJson<Session>("POST", `${getSessionUrl(session)}/branch`, { at }),
  listTurns: async (session: string, signal?: AbortSignal) =>
    (await getJson<{ turns: OpenTurn[] }>(`${getSessionUrl(session)}/turns`, signal)).turns,
  takeBack: (session: string, turn: string) =>
    sendJson<void>("DELETE", `${getSessionUrl(session)}/turns/queued/${encodeURIComponent(turn)}`),
  stopTurn: (session: string) => sendJson<{ stopped: boolean }>("POST", `${getSessionUrl(session)}/turns/running/stop`),
  answerApproval: (session: string, question: string, choice: string, covers?: Covers) =>
    sendJson<void>("POST", `${getSessionUrl(session)}/turns/running/approval`, {
      question,
      choice,
      ...(covers ? { covers } : {}),
    }),
  getQuestion: (session: string, question: string, signal?: AbortSignal) =>
    getJson<{ text: string; sha256: string }>(
      `${getSessionUrl(session)}/questions/${encodeURIComponent(question)}`,
      signal,
    ),
  listCommands: (signal?: AbortSignal) => getJson<ChatCommand[]>("/api/commands", signal),
  /** The person's own prompts, as commands. */
  listPrompts: async (signal?: AbortSignal): Promise<ChatCommand[]> =>
    (
      await getJson<Array<{ name: string; description: string; arguments: string; problem: string }>>(
        PROMPTS_API,
        signal,
      )
    )
      .filter((prompt) => !prompt.problem)
      .map((prompt) => ({ name: prompt.name, arguments: prompt.arguments, help: prompt.description })),
  fillPrompt: async (name: string, words: string) =>
    (await sendJson<{ text: string }>("POST", `${PROMPTS_API}/${name}/fill`, { arguments: words })).text,
  runCommand: (session: string, line: string) =>
    sendJson<CommandAnswer>("POST", `${getSessionUrl(session)}/commands`, { line }),
  takeOver: (session: string) => sendJson<Session>("POST", `${getSessionUrl(session)}/take`),
  listRuntimes: (signal?: AbortSignal) => getJson<RuntimeInfo[]>("/api/runtimes", signal),

  uploadAttachment: (session: string, file: File, report: (bytes: number) => void) =>
    uploadFile<Attachment>(`${getSessionUrl(session)}/attachments?name=${encodeURIComponent(file.name)}`, file, report),

  /** Uploads files one after the other; `report` hears which part of all their bytes is sent. */
  async uploadAll(session: string, files: File[], report: ReportUpload): Promise<Attachment[]> {
    const total = Math.max(
      1,
      files.reduce((sum, file) => sum + file.size, 0),
    );
    const uploaded: Attachment[] = [];
    let sent = 0;
    for (const file of files) {
      uploaded.push(await conversationApi.uploadAttachment(session, file, (bytes) => report((sent + bytes) / total)));
      sent += file.size;
    }
    return uploaded;
  },

  getAttachmentUrl: (session: string, hash: string) => `${getSessionUrl(session)}/attachments/${hash}`,
};

/** A random key of 128 bits. `crypto.randomUUID` exists only on secure origins; this works on plain HTTP too. */
function buildIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
