// The HTTP client for the gateway, and for the rooms of its platform `local`.
import { getJson, sendJson } from "@/api/http";
import { streamFrames } from "@/api/sse";

export interface Connection {
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
export interface GatewayStatus {
  gateways: Array<{
    id: string;
    host: string;
    pid: number;
    started_at: number;
    beat_at: number;
    lines: Record<string, Connection>;
  }>;
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
export interface RoomMessage {
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
  pressed: string; // the value of a pressed button; `answers` is the number of the message with the button
  answers: number;
  at: number;
}

const GATEWAY_API = "/api/plugins/gateway";
const ROOMS_API = "/api/plugins/local/rooms";
const encode = encodeURIComponent;

export const gatewayApi = {
  getStatus: (signal?: AbortSignal) => getJson<GatewayStatus>(`${GATEWAY_API}/status`, signal),
  listPeople: (signal?: AbortSignal) => getJson<People>(`${GATEWAY_API}/people`, signal),
  approvePairing: (code: string, owner: boolean, name: string) =>
    sendJson("POST", `${GATEWAY_API}/people`, { code, owner, name }),
  denyPairing: (platform: string, sender: string) =>
    sendJson("DELETE", `${GATEWAY_API}/people/waiting/${encode(platform)}/${encode(sender)}`),
  revokePairing: (platform: string, sender: string) =>
    sendJson("DELETE", `${GATEWAY_API}/people/${encode(platform)}/${encode(sender)}`),
  listDeliveries: (signal?: AbortSignal) => getJson<Delivery[]>(`${GATEWAY_API}/outbox`, signal),

  listHandoffs: (signal?: AbortSignal) => getJson<Handoff[]>(`${GATEWAY_API}/handoffs`, signal),
  findLatestHandoff: async (session: string, signal?: AbortSignal) =>
    (await getJson<Handoff[]>(`${GATEWAY_API}/sessions/${encode(session)}/handoffs`, signal))[0] ?? null,
  requestHandoff: (session: string, to: string) =>
    sendJson<Handoff>("POST", `${GATEWAY_API}/sessions/${encode(session)}/handoff`, { to, surface: "web" }),
  cancelHandoff: (id: string) => sendJson<Handoff>("DELETE", `${GATEWAY_API}/handoffs/${encode(id)}`),
  /** The hand-off after each of its steps, until it is over. */
  async *streamHandoff(id: string, signal: AbortSignal): AsyncGenerator<Handoff> {
    for await (const frame of streamFrames(`${GATEWAY_API}/handoffs/${encode(id)}/events`, { signal }))
      yield JSON.parse(frame.data) as Handoff;
  },

  listRooms: async (signal?: AbortSignal) => (await getJson<{ rooms: string[] }>(ROOMS_API, signal)).rooms,
  postMessage: (room: string, text: string, thread: string | null, sender: string) =>
    sendJson<RoomMessage>("POST", `${ROOMS_API}/${encode(room)}/messages`, {
      text,
      thread,
      ...(sender ? { sender, name: sender } : {}),
    }),
  pressButton: (room: string, n: number, value: string, sender: string) =>
    sendJson<RoomMessage>("POST", `${ROOMS_API}/${encode(room)}/messages/${n}/press`, {
      value,
      ...(sender ? { sender, name: sender } : {}),
    }),
  /** The messages of a room, stored and new; an edited one is sent again under its number. */
  async *streamMessages(room: string, after: number, signal: AbortSignal): AsyncGenerator<RoomMessage> {
    for await (const frame of streamFrames(`${ROOMS_API}/${encode(room)}/events?after=${after}`, { signal }))
      yield JSON.parse(frame.data) as RoomMessage;
  },
};
