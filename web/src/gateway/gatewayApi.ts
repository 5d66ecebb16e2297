// What the pages ask of the gateway, and of the rooms of its platform `local`.
import { getJson, sendJson } from "@/api/http";
import { frames } from "@/api/sse";

export interface Line {
  state: string;
  health: "good" | "stuck" | "down";
  problem?: string;
  last_received?: number | null;
  last_sent?: number | null;
  waiting?: number;
  oldest_waiting?: number | null;
  pending?: number;
  oldest_pending?: number | null;
  failed?: number;
}
export interface Status {
  gateways: Array<{ id: string; host: string; pid: number; started_at: number; beat_at: number; lines: Record<string, Line> }>;
}
export interface Handoff {
  id: string;
  session: string;
  title?: string | null;
  from_surface: string;
  platform: string;
  target: string;
  by: string;
  state: string;
  thread_id: string;
  place: string;
  message_id: string;
  note: string;
  error_code: string;
  error: string;
  created_at: number;
  claimed_at: number | null;
  bound_at: number | null;
  finished_at: number | null;
}
export interface Delivery {
  id: number;
  platform: string;
  place: string;
  session: string | null;
  state: string;
  attempts: number;
  possible_duplicate: boolean;
  error: string;
  created_at: number;
  sent_at: number | null;
  text: string;
}
export interface People {
  waiting: Array<{ platform: string; sender: string; name: string; until: number }>;
  paired: Array<{ platform: string; sender: string; name: string; principal: string }>;
}
export interface Note {
  id: string;
  room: string;
  n: number;
  text: string;
  by: string;
  name: string;
  ours: boolean;
  thread: string | null;
  opens: boolean;
  buttons: Array<{ label: string; value: string }>;
  pressed: string; // it is a button that somebody pressed, and `answers` is the number it stood under
  answers: number;
  at: number;
}

const BASE = "/api/plugins/gateway";
const ROOMS = "/api/plugins/local/rooms";
const part = encodeURIComponent;

export const gatewayApi = {
  status: (signal?: AbortSignal) => getJson<Status>(`${BASE}/status`, signal),
  people: (signal?: AbortSignal) => getJson<People>(`${BASE}/people`, signal),
  letIn: (code: string, owner: boolean, name: string) => sendJson("POST", `${BASE}/people`, { code, owner, name }),
  turnAway: (platform: string, sender: string) => sendJson("DELETE", `${BASE}/people/waiting/${part(platform)}/${part(sender)}`),
  letOut: (platform: string, sender: string) => sendJson("DELETE", `${BASE}/people/${part(platform)}/${part(sender)}`),
  deliveries: (signal?: AbortSignal) => getJson<Delivery[]>(`${BASE}/outbox`, signal),

  handoffs: (signal?: AbortSignal) => getJson<Handoff[]>(`${BASE}/handoffs`, signal),
  newest: async (session: string, signal?: AbortSignal) => (await getJson<Handoff[]>(`${BASE}/sessions/${part(session)}/handoffs`, signal))[0] ?? null,
  handOver: (session: string, to: string) => sendJson<Handoff>("POST", `${BASE}/sessions/${part(session)}/handoff`, { to, surface: "web" }),
  callOff: (id: string) => sendJson<Handoff>("DELETE", `${BASE}/handoffs/${part(id)}`),
  /** Each step of a hand-off, until it is over. */
  async *steps(id: string, signal: AbortSignal): AsyncGenerator<Handoff> {
    for await (const frame of frames(`${BASE}/handoffs/${part(id)}/events`, { signal })) yield JSON.parse(frame.data) as Handoff;
  },

  rooms: async (signal?: AbortSignal) => (await getJson<{ rooms: string[] }>(ROOMS, signal)).rooms,
  say: (room: string, text: string, thread: string | null, sender: string) =>
    sendJson<Note>("POST", `${ROOMS}/${part(room)}/messages`, { text, thread, ...(sender ? { sender, name: sender } : {}) }),
  press: (room: string, n: number, value: string, sender: string) =>
    sendJson<Note>("POST", `${ROOMS}/${part(room)}/messages/${n}/press`, { value, ...(sender ? { sender, name: sender } : {}) }),
  /** What was said in a room and what is said there now; one that is changed comes again under its number. */
  async *notes(room: string, after: number, signal: AbortSignal): AsyncGenerator<Note> {
    for await (const frame of frames(`${ROOMS}/${part(room)}/events?after=${after}`, { signal })) yield JSON.parse(frame.data) as Note;
  },
};
