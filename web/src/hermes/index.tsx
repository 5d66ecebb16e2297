// The same page for a real Hermes dashboard: a classic script that uses the host's own React.
import { Achievements } from "@/achievements/Achievements";
import type { Host } from "@/achievements/types";
import "@/hermes/host.css";
import "@/achievements/achievements.css";

interface Sdk {
  fetchJSON(path: string, init?: RequestInit): Promise<unknown>;
}
interface Registry {
  register(name: string, component: () => unknown): void;
}
const sdk = (window as unknown as { __HERMES_PLUGIN_SDK__?: Sdk }).__HERMES_PLUGIN_SDK__;
const plugins = (window as unknown as { __HERMES_PLUGINS__?: Registry }).__HERMES_PLUGINS__;

if (sdk && plugins) {
  const host: Host = {
    fetchJson: <T,>(path: string, init?: RequestInit) => sdk.fetchJSON(path, init) as Promise<T>,
    openSession: null,
    sessionAddress: () => "",
  };
  plugins.register("hermes-achievements", () => <div className="sojourn-achievements"><Achievements host={host} /></div>);
}
