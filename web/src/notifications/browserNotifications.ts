// Notifications of the browser: shown only after the person has turned them on here, and the browser has asked, too.
const STORAGE_NAME = "sojourn.notifications";

export type NotificationState = "insecure" | "unsupported" | "off" | "on" | "blocked";

export function getNotificationState(): NotificationState {
  if (!window.isSecureContext) return "insecure";
  if (!("Notification" in window)) return "unsupported";
  if (Notification.permission === "denied") return "blocked";
  return Notification.permission === "granted" && localStorage.getItem(STORAGE_NAME) === "on" ? "on" : "off";
}

/** Asks for the browser's consent, too; the state tells what came of it. */
export async function turnNotificationsOn(): Promise<NotificationState> {
  if ((await Notification.requestPermission()) === "granted") localStorage.setItem(STORAGE_NAME, "on");
  return getNotificationState();
}

export function turnNotificationsOff(): NotificationState {
  localStorage.removeItem(STORAGE_NAME);
  return getNotificationState();
}

/** Shows a notification that leads to a path of ours. One with the same tag takes the place of the one before. */
export async function showNotification(title: string, body: string, path: string, tag: string): Promise<void> {
  const options = { body, tag, icon: "/assets/icon-192.png", data: { path } };
  const registration = await navigator.serviceWorker?.getRegistration();
  if (registration?.active) return registration.showNotification(title, options); // the only way on a phone
  const shown = new Notification(title, options);
  shown.onclick = () => {
    window.focus();
    window.dispatchEvent(new MessageEvent("sojourn:open", { data: { open: path } }));
  };
}
