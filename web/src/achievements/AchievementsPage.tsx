import { AchievementsPanel } from "@/achievements/AchievementsPanel";
import type { AchievementsHost } from "@/achievements/types";
import { request } from "@/api/http";
import { navigate } from "@/router";
import { getSessionUrl } from "@/sessions/sessionLinks";
import "./achievements.css";
import "./badges.css";
import "./moment.css";

const HOST: AchievementsHost = {
  fetchJson: async (path, init) => (await request(path, init)).json(),
  openSession: (id, seq) => navigate(getSessionUrl(id, seq)),
  getSessionUrl: (id, seq) => getSessionUrl(id, seq),
  insightsApi: "/api/plugins/dashboard/insights",
};

export default function AchievementsPage() {
  return <AchievementsPanel host={HOST} />;
}
