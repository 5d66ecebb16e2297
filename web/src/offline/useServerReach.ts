import { useEffect, useState } from "react";

const RETRY_MS = 3000;
const hasShell = () => Boolean(navigator.serviceWorker?.controller);

async function isServerThere(signal: AbortSignal): Promise<boolean> {
  try {
    return (await fetch("/healthz", { cache: "no-store", signal })).ok;
  } catch {
    return false;
  }
}

/** Whether the server answers. Only a page that may come from the stored shell asks; it opens anew when the server is back. */
export function useServerReach(): boolean {
  const [isThere, setIsThere] = useState(true);
  useEffect(() => {
    if (!hasShell()) return;
    const controller = new AbortController();
    const { signal } = controller;
    let timer: ReturnType<typeof setTimeout>;
    const check = async (isFirst: boolean) => {
      const answers = await isServerThere(signal);
      if (signal.aborted) return;
      if (answers && !isFirst) location.reload();
      setIsThere(answers);
      if (!answers) timer = setTimeout(() => void check(false), RETRY_MS);
    };
    void check(true);
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, []);
  return isThere;
}

/** Stores the shell in this browser. There is no service worker without a secure address. */
export function registerServiceWorker(): void {
  navigator.serviceWorker?.register("/service-worker.js").catch(() => undefined);
}
