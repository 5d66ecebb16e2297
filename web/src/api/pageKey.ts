// The page key: the half of a browser session that only pages of this origin can read. The other half is the cookie, which
// the browser also sends to other ports of this host. The page behind a one-time link stores it under the same name.
const STORAGE_NAME = "sojourn.page-key";

export function storePageKey(key: string): void {
  localStorage.setItem(STORAGE_NAME, key);
}

export function forgetPageKey(): void {
  localStorage.removeItem(STORAGE_NAME);
}

export function getPageKeyHeader(): Record<string, string> {
  const key = localStorage.getItem(STORAGE_NAME);
  return key ? { "Sojourn-Page-Key": key } : {};
}
