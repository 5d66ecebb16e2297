// Web Push: an empty message through a server of the browser's maker, when something waits and no page is open.
import { getJson, sendJson } from "@/api/http";

const PUSH_API = "/api/plugins/dashboard/push";

/** Whose server a message to this browser passes. */
export function getPushServer(agent: string = navigator.userAgent): string {
  if (agent.includes("Firefox/")) return "push.services.mozilla.com (Mozilla)";
  if (agent.includes("Edg/")) return "notify.windows.com (Microsoft)";
  if (agent.includes("Safari/") && !agent.includes("Chrome/")) return "push.apple.com (Apple)";
  return "fcm.googleapis.com (Google)";
}

async function getSubscription(): Promise<PushSubscription | null> {
  const registration = await navigator.serviceWorker?.getRegistration();
  return (await registration?.pushManager?.getSubscription()) ?? null;
}

export const canPush = (): boolean => "PushManager" in window && "serviceWorker" in navigator;
export const isPushOn = async (): Promise<boolean> => (await getSubscription()) !== null;

/** Called after the person has agreed. An error of the browser says what stands in the way. */
export async function turnPushOn(): Promise<void> {
  const { key } = await getJson<{ key: string }>(PUSH_API);
  const registration = await navigator.serviceWorker.ready;
  const options = { userVisibleOnly: true, applicationServerKey: decodeKey(key) };
  const { endpoint } = await registration.pushManager.subscribe(options);
  await sendJson("PUT", PUSH_API, { endpoint });
}

export async function turnPushOff(): Promise<void> {
  const subscription = await getSubscription();
  if (!subscription) return;
  await sendJson("DELETE", PUSH_API, { endpoint: subscription.endpoint });
  await subscription.unsubscribe();
}

function decodeKey(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
