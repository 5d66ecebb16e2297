import { AchievementsPanel } from "@/achievements/AchievementsPanel";
import type { AchievementsHost } from "@/achievements/types";
import { request } from "@/api/http";
import { navigate } from "@/router";
import "./achievements.css";
import "./badges.css";

const getSessionUrl = (id: string) => `/sessions/${encodeURIComponent(id)}`;

const HOST: AchievementsHost = {
  fetchJson: async (path, init) => (await request(path, init)).json(),
  openSession: (id) => navigate(getSessionUrl(id)),
  getSessionUrl,
};

export default function AchievementsPage() {
  return <AchievementsPanel host={HOST} />;
}
