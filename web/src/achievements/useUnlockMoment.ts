import { useEffect, useState } from "react";
import { type AchievementsResponse, type Badge, isScanning } from "./types";

const STORAGE_NAME = "sojourn.badges.seen";
type Seen = Record<string, string>; // what was unlocked, with its tier

const listUnlocked = (badges: Badge[]): Seen =>
  Object.fromEntries(badges.filter((badge) => badge.unlocked).map((badge) => [badge.id, badge.tier ?? ""]));

function readSeen(): Seen | null {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_NAME) ?? "null") as Seen | null;
  } catch {
    return null;
  }
}

/** Badges that were unlocked, or reached another tier, since the person saw them last in this browser. A first look at a
 * history that was counted before is no news; what a first scan finds before one's eyes is. */
export function useUnlockMoment(response: AchievementsResponse | null): { unlocked: Badge[]; close: () => void } {
  const [seen, setSeen] = useState<Seen | null>(readSeen);
  const store = (badges: Badge[]) => {
    const now = listUnlocked(badges);
    localStorage.setItem(STORAGE_NAME, JSON.stringify(now));
    setSeen(now);
  };
  useEffect(() => {
    if (response && !seen) store(isScanning(response) ? [] : response.achievements);
  }, [response, seen]);
  const unlocked =
    seen && response
      ? response.achievements.filter((badge) => badge.unlocked && seen[badge.id] !== (badge.tier ?? ""))
      : [];
  return { unlocked, close: () => response && store(response.achievements) };
}
