import { getJson, sendJson } from "@/api/http";

export interface Schedule {
  id: string;
  name: string;
  when: string;
  text: string;
  deliver: string | null;
  budget_usd: number | null;
  paused: string | null;
  missed: number;
  next_at: string | null;
}
export interface ScheduleRun {
  at: string;
  state: "claimed" | "running" | "completed" | "failed" | "stopped";
  session_id: string | null;
  error: string | null;
}
export interface ScheduleBody {
  when: string;
  text: string;
  name?: string;
  deliver: string;
  budget_usd: number;
}

const URL = "/api/plugins/schedules/schedules";
const getUrl = (id: string) => `${URL}/${encodeURIComponent(id)}`;

export const schedulesApi = {
  list: (signal?: AbortSignal) => getJson<Schedule[]>(URL, signal),
  add: (body: ScheduleBody) => sendJson<Schedule>("POST", URL, body),
  change: (id: string, body: Partial<ScheduleBody> & { paused?: boolean }) =>
    sendJson<Schedule>("PATCH", getUrl(id), body),
  remove: (id: string) => sendJson<void>("DELETE", getUrl(id)),
  listRuns: (id: string, signal?: AbortSignal) => getJson<ScheduleRun[]>(`${getUrl(id)}/runs`, signal),
};
