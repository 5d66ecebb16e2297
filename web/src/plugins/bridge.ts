// The host's side of a plugin's frame. What is not here, a plugin's page cannot do.
import { ApiError, getJson, request } from "@/api/http";
import { go } from "@/router";
import type { PluginPage } from "@/plugins/listing";

export interface Heard {
  ready: () => void;
  alive: () => void;
  stumbled: (why: string) => void;
  toast: (text: string) => void;
  flooding: () => void;
}
interface Ask {
  id: number;
  ask: string;
  given: Record<string, unknown>;
}
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const MOST_A_SECOND = 200;

class Refused extends ApiError {
  constructor(detail: string, hint = "") {
    super({ code: "not_allowed", detail, hint, status: 403 });
  }
}

export class Bridge {
  private port: MessagePort | null = null;
  private since = 0;
  private count = 0;

  constructor(
    private readonly frame: HTMLIFrameElement,
    private readonly plugin: PluginPage,
    private readonly heard: Heard,
    private readonly told: () => { theme: string; language: string },
  ) {
    window.addEventListener("message", this.hello);
  }

  close(): void {
    window.removeEventListener("message", this.hello);
    this.port?.close();
    this.port = null;
  }

  say(what: unknown): void {
    this.port?.postMessage(what);
  }

  /** Its origin has no name, so it is known by its window; it gets a port that nobody else can speak into. */
  private readonly hello = (event: MessageEvent) => {
    if (event.source !== this.frame.contentWindow || this.isFlood()) return;
    if ((event.data as { sojourn?: string } | null)?.sojourn !== "hello") return;
    this.port?.close();
    const channel = new MessageChannel();
    this.port = channel.port1;
    this.port.onmessage = (message) => this.hear(message.data as unknown);
    const { name, label, version, needs } = this.plugin;
    const plugin = { name, label, version, needs: needs.map((need) => need.name) };
    this.frame.contentWindow!.postMessage({ sojourn: "welcome", ...this.told(), plugin }, "*", [channel.port2]);
    this.heard.ready();
  };

  private hear(data: unknown): void {
    if (this.isFlood() || typeof data !== "object" || data === null) return;
    if ("pong" in data) this.heard.alive();
    else if ("stumbled" in data) this.heard.stumbled(String(data.stumbled).slice(0, 300));
    else if ("key" in data) window.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true })); // the palette
    else if ("ask" in data) void this.answer(data as Ask);
  }

  private async answer({ id, ask, given }: Ask): Promise<void> {
    try {
      this.say({ id, value: await this.act(ask, given ?? {}) });
    } catch (error) {
      const known = error instanceof ApiError ? { code: error.code, hint: error.hint, status: error.status } : { code: "failed", hint: "", status: 0 };
      this.say({ id, failed: { message: error instanceof Error ? error.message : String(error), ...known } });
    }
  }

  private async act(ask: string, given: Record<string, unknown>): Promise<unknown> {
    if (ask === "api") return this.api(given);
    if (ask === "sessions.list") return this.sessions(given);
    if (ask === "sessions.read") return this.session(given);
    if (ask === "toast") return this.heard.toast(String(given["text"]).slice(0, 200));
    if (ask === "go") return this.go(String(given["path"]));
    throw new Refused(`There is no "${ask}" for plugins.`);
  }

  /** Only below its own address, whatever the path looks like. */
  private async api(given: Record<string, unknown>): Promise<unknown> {
    const base = `/api/plugins/${this.plugin.name}/`;
    const address = new URL(String(given["path"]).replace(/^\/+/, ""), location.origin + base);
    const method = String(given["method"] ?? "GET").toUpperCase();
    if (address.origin !== location.origin || !address.pathname.startsWith(base)) throw new Refused("A plugin reaches its own API only.");
    if (!METHODS.includes(method)) throw new Refused(`${method} is not a method for plugins.`);
    const body = given["json"] === undefined ? {} : { body: JSON.stringify(given["json"]), headers: { "Content-Type": "application/json" } };
    const answer = await request(address.pathname + address.search, { method, ...body });
    const text = await answer.text();
    return answer.headers.get("Content-Type")?.includes("json") && text ? JSON.parse(text) : text;
  }

  private async sessions(given: Record<string, unknown>): Promise<unknown> {
    this.must("sessions:read");
    return getJson(`/api/sessions?${query(given, ["text", "limit", "before", "source", "tag"])}`);
  }

  private async session(given: Record<string, unknown>): Promise<unknown> {
    this.must("sessions:read");
    const address = `/api/sessions/${encodeURIComponent(String(given["id"]))}`;
    const session = await getJson<{ id: string }>(address);
    const page = await getJson<object>(`${address}/messages?${query(given, ["after", "limit"])}`);
    return { session, ...page };
  }

  private go(path: string): void {
    if (!/^\/(?!\/)/.test(path)) throw new Refused("A plugin can only go to a page of Sojourn.", "Begin the path with a slash.");
    go(path);
  }

  private must(need: string): void {
    if (!this.plugin.needs.some((one) => one.name === need)) {
      throw new Refused(`This plugin did not say that it needs ${need}.`, `Add "${need}" to \`needs\` in its manifest.`);
    }
  }

  /** A page that never stops talking would take the time of all the others. */
  private isFlood(): boolean {
    const now = performance.now();
    if (now - this.since > 1000) [this.since, this.count] = [now, 0];
    this.count += 1;
    if (this.count === MOST_A_SECOND + 1) this.heard.flooding();
    return this.count > MOST_A_SECOND;
  }
}

function query(given: Record<string, unknown>, names: string[]): string {
  const wanted = new URLSearchParams();
  for (const name of names) if (given[name] !== undefined && given[name] !== null) wanted.set(name, String(given[name]));
  return wanted.toString();
}
