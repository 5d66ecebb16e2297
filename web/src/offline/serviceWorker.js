// Keeps the shell of the pages, so that they can say that the server is not reachable. These public files are all it keeps: it
// neither reads nor stores any answer of the API.
const VERSION = "SHELL_VERSION"; // filled in when the pages are built, as the files are
const FILES = ["SHELL_FILES"];
const UNREACHABLE = [502, 503, 504]; // says a proxy whose server is away

const findInShell = async (path) => (await caches.open(VERSION)).match(path, { ignoreVary: true });

async function fetchDocument(request) {
  try {
    const response = await fetch(request);
    return UNREACHABLE.includes(response.status) ? ((await findInShell("/")) ?? response) : response;
  } catch {
    return (await findInShell("/")) ?? Response.error();
  }
}

async function deleteOldShells() {
  for (const name of await caches.keys()) if (name !== VERSION) await caches.delete(name);
  await self.clients.claim();
}

/** Opens what a notification is about: in a page that is open, else in a new one. */
async function openPath(path) {
  const [page] = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (!page) return self.clients.openWindow(path);
  await page.focus();
  page.postMessage({ open: path });
}

self.addEventListener("install", (event) => {
  const store = async () => {
    await (await caches.open(VERSION)).addAll(FILES.map((path) => new Request(path, { cache: "reload" })));
    await self.skipWaiting();
  };
  event.waitUntil(store());
});

self.addEventListener("activate", (event) => event.waitUntil(deleteOldShells()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin) return;
  if (request.mode === "navigate" && request.destination === "document") event.respondWith(fetchDocument(request));
  else if (pathname !== "/" && FILES.includes(pathname))
    event.respondWith(findInShell(pathname).then((found) => found ?? fetch(request)));
});

/** A message from our server through one of the browser's maker. It is empty: what waits, the page asks itself. */
async function tellThatSomethingWaits() {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (pages.some((page) => page.visibilityState === "visible")) return; // it shows what waits
  const isChinese = self.navigator.language.startsWith("zh");
  await self.registration.showNotification("Sojourn", {
    body: isChinese ? "有会话在等你" : "A session waits for your answer.",
    tag: "waiting",
    icon: "/assets/icon-192.png",
    data: { path: "/chat" },
  });
}

self.addEventListener("push", (event) => event.waitUntil(tellThatSomethingWaits()));

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(openPath(event.notification.data?.path ?? "/"));
});
