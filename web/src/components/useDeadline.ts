import { useEffect, useState } from "react";

/** Seconds until something ends that began when `key` was first shown; null if it has no end. */
export function useDeadline(seconds: number, key: string): number | null {
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    if (!seconds) return;
    const end = Date.now() + seconds * 1000;
    const tick = () => setLeft(Math.max(0, Math.round((end - Date.now()) / 1000)));
    tick();
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, [seconds, key]);
  return seconds ? left : null;
}
