import { useSyncExternalStore } from "react";

const PHONE = matchMedia("(max-width: 800px)");

function subscribe(notify: () => void): () => void {
  PHONE.addEventListener("change", notify);
  return () => PHONE.removeEventListener("change", notify);
}

export const useIsPhone = (): boolean => useSyncExternalStore(subscribe, () => PHONE.matches);
