// The host's side of a plugin's frame: the only interface a plugin's page has to Sojourn.
import { ApiError, getJson, request } from "@/api/http";
import type { PluginPage } from "@/plugins/pluginList";
import { navigate } from "@/router";

interface PluginListeners {
  ready: () => void;
  alive: () => void;
  failed: (reason: string) => void;
  toast: (text: string) => void;
  flooding: () => void;
}
interface PluginRequest {
  id: number;
  ask: string;
  given: Record<string, unknown>;
}
const ALLOWED_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const MAX_MESSAGES_PER_SECOND = 200;

class RefusedError extends ApiError {
  constructor(detail: string, hint = "") {
    super({ code: "not_allowed", detail, hint, status: 403 });
  }
}

export class PluginBridge {
  private port: MessagePort | null = null;
  private windowStart = 0;
  private count = 0;

  constructor(
    private readonly frame: HTMLIFrameElement,
    private readonly plugin: PluginPage,
    private readonly listeners: PluginListeners,
    private readonly getEnvironment: () => { theme: string; language: string },
  ) {
    window.addEventListener("message", this.acceptHello);
  }

  close(): void {
    window.removeEventListener("message", this.acceptHello);
    this.port?.close();
    this.port = null;
  }

  send(message: unknown): void {
    this.port?.postMessage(message);
  }

  /** A sandboxed frame has an opaque origin, so it is identified by its window, and receives a private message port. */
  private readonly acceptHello = (event: MessageEvent) => {
    if (event.source !== this.frame.contentWindow || this.isFlood()) return;
    if ((event.data as { sojourn?: string } | null)?.sojourn !== "hello") return;
    this.port?.close();
    const channel = new MessageChannel();
    this.port = channel.port1;
    this.port.onmessage = (message) => this.receive(message.data as unknown);
    const { name, label, version, needs } = this.plugin;
    const plugin = { name, label, version, needs: needs.map((need) => need.name) };
    this.frame.contentWindow!.postMessage({ sojourn: "welcome", ...this.getEnvironment(), plugin }, "*", [
      channel.port2,
    ]);
    this.listeners.ready();
  };

  private receive(data: unknown): void {
    if (this.isFlood() || typeof data !== "object" || data === null) return;
    if ("pong" in data) this.listeners.alive();
    else if ("stumbled" in data) this.listeners.failed(String(data.stumbled).slice(0, 300));
    else if ("key" in data)
      window.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true })); // the palette
    else if ("ask" in data) void this.answerRequest(data as PluginRequest);
  }

  private async answerRequest({ id, ask, given }: PluginRequest): Promise<void> {
    try {
      this.send({ id, value: await this.perform(ask, given ?? {}) });
    } catch (error) {
      const known =
        error instanceof ApiError
          ? { code: error.code, hint: error.hint, status: error.status }
          : { code: "failed", hint: "", status: 0 };
      this.send({ id, failed: { message: error instanceof Error ? error.message : String(error), ...known } });
    }
  }

  private async perform(ask: string, given: Record<string, unknown>): Promise<unknown> {
    if (ask === "api") return this.callApi(given);
    if (ask === "sessions.list") return this.listSessions(given);
    if (ask === "sessions.read") return this.readSession(given);
    if (ask === "toast") return this.listeners.toast(String(given["text"]).slice(0, 200));
    if (ask === "go") return this.openPage(String(given["path"]));
    throw new RefusedError(`Plugins cannot ask for "${ask}".`);
  }

  /** Calls the plugin's own API; a path that leads anywhere else is refused. */
  private async callApi(given: Record<string, unknown>): Promise<unknown> {
    const base = `/api/plugins/${this.plugin.name}/`;
    const url = new URL(String(given["path"]).replace(/^\/+/, ""), location.origin + base);
    const method = String(given["method"] ?? "GET").toUpperCase();
    if (url.origin !== location.origin || !url.pathname.startsWith(base))
      throw new RefusedError("A plugin can only call its own API.");
    if (!ALLOWED_METHODS.includes(method)) throw new RefusedError(`Plugins cannot send ${method} requests.`);
    const body =
      given["json"] === undefined
        ? {}
        : { body: JSON.stringify(given["json"]), headers: { "Content-Type": "application/json" } };
    const response = await request(url.pathname + url.search, { method, ...body });
    const text = await response.text();
    return response.headers.get("Content-Type")?.includes("json") && text ? JSON.parse(text) : text;
  }

  private async listSessions(given: Record<string, unknown>): Promise<unknown> {
    this.requireNeed("sessions:read");
    return getJson(`/api/sessions?${buildQuery(given, ["text", "limit", "before", "source", "tag"])}`);
  }

  private async readSession(given: Record<string, unknown>): Promise<unknown> {
    this.requireNeed("sessions:read");
    const address = `/api/sessions/${encodeURIComponent(String(given["id"]))}`;
    const session = await getJson<{ id: string }>(address);
    const page = await getJson<object>(`${address}/messages?${buildQuery(given, ["after", "limit"])}`);
    return { session, ...page };
  }

  private openPage(path: string): void {
    if (!/^\/(?!\/)/.test(path))
      throw new RefusedError("A plugin can only open pages of Sojourn.", "Start the path with a slash.");
    navigate(path);
  }

  private requireNeed(need: string): void {
    if (!this.plugin.needs.some(({ name }) => name === need)) {
      throw new RefusedError(
        `This plugin has not declared the need ${need}.`,
        `Add "${need}" to \`needs\` in its manifest.`,
      );
    }
  }

  /** The rate limit: a page that floods the bridge would slow down all the others. */
  private isFlood(): boolean {
    const now = performance.now();
    if (now - this.windowStart > 1000) [this.windowStart, this.count] = [now, 0];
    this.count += 1;
    if (this.count === MAX_MESSAGES_PER_SECOND + 1) this.listeners.flooding();
    return this.count > MAX_MESSAGES_PER_SECOND;
  }
}

function buildQuery(given: Record<string, unknown>, names: string[]): string {
  const query = new URLSearchParams();
  for (const name of names) if (given[name] !== undefined && given[name] !== null) query.set(name, String(given[name]));
  return query.toString();
}
