// The conversation that was open last, so that "Chat" leads back to it.
const STORAGE_NAME = "sojourn.last-chat";

export function rememberChat(id: string): void {
  if (id) sessionStorage.setItem(STORAGE_NAME, id);
  else sessionStorage.removeItem(STORAGE_NAME);
}

export function getChatUrl(): string {
  const id = sessionStorage.getItem(STORAGE_NAME);
  return id ? `/chat/${encodeURIComponent(id)}` : "/chat";
}
