export const TIERS = ["Copper", "Silver", "Gold", "Diamond", "Olympian"] as const;
export type BadgeState = "unlocked" | "discovered" | "secret";

export interface Badge {
  id: string;
  name: string;
  description: string;
  category: string;
  kind: string;
  icon: string;
  secret?: true;
  tiers?: Array<{ name: string; threshold: number }>;
  requirements?: Array<{ metric: string; gte: number }>;
  threshold_metric?: string;
  unlocked: boolean;
  state: BadgeState;
  tier: string | null;
  next_tier: string | null;
  progress: number;
  next_threshold: number;
  progress_pct: number;
  criteria: string;
  unlocked_at?: number | null;
  reached_at?: number | null; // when the history crossed the threshold; absent in a Hermes dashboard
  reached_session_id?: string | null;
  evidence?: { session_id: string; title: string; value: number } | null;
}

export interface AchievementsResponse {
  achievements: Badge[];
  unlocked_count: number;
  discovered_count: number;
  secret_count: number;
  total_count: number;
  error: string | null;
  generated_at?: number;
  is_stale: boolean;
  serving_state?: string;
  scan_meta: {
    mode?: string;
    sessions_total?: number;
    sessions_scanned_so_far?: number;
    sessions_expected_total?: number;
    status?: { state: string; sessions_scanned_so_far?: number; sessions_expected_total?: number };
  };
}

export interface Receipt {
  session_id: string;
  title: string;
  row: number;
  seq?: number | null; // the message; absent in a Hermes dashboard
  role: string | null;
  kind: string;
  excerpt: string;
  highlights: Array<[number, number]>;
  tools: string[];
}

/** What the panel needs from its host: our dashboard, or a Hermes one. */
export interface AchievementsHost {
  fetchJson<T>(path: string, init?: { method?: string; signal?: AbortSignal }): Promise<T>;
  openSession: ((id: string, seq?: number | null) => void) | null;
  getSessionUrl(id: string, seq?: number | null): string;
  insightsApi: string | null; // where the figures of a year are; none in a Hermes dashboard
}

export const ACHIEVEMENTS_API = "/api/plugins/hermes-achievements";

/** Whether the first scan has not completed yet. */
export const isBuilding = (response: AchievementsResponse): boolean =>
  ["pending", "in_progress"].includes(response.scan_meta.mode ?? "");

export const isScanning = (response: AchievementsResponse): boolean =>
  isBuilding(response) || response.serving_state === "SCANNING" || response.scan_meta.status?.state === "running";

/** When a badge was really earned, in seconds; when that is not known, when a scan found it. */
export const getDate = (badge: Badge): number => badge.reached_at ?? badge.unlocked_at ?? 0;

/** How full the bar of a badge is: as its figures beside it say, from nothing, not from the last tier. */
export function getBarPercent(badge: Badge): number {
  if (badge.state === "secret") return 0;
  if (badge.requirements || !badge.next_tier || !badge.next_threshold) return badge.progress_pct;
  return Math.min(100, Math.floor((100 * badge.progress) / badge.next_threshold));
}
