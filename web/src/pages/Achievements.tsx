import { request } from "@/api/http";
import { Achievements } from "@/achievements/Achievements";
import type { Host } from "@/achievements/types";
import { go } from "@/router";

const sessionAddress = (id: string) => `/sessions/${encodeURIComponent(id)}`;

const HOST: Host = {
  fetchJson: async (path, init) => (await request(path, init)).json(),
  openSession: (id) => go(sessionAddress(id)),
  sessionAddress,
};

export default function Page() {
  return <Achievements host={HOST} />;
}
