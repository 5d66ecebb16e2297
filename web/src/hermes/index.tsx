// The same page for a real Hermes dashboard: a classic script that uses the host's own React.
import { useEffect, useRef, useState } from "react";
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
  plugins.register("hermes-achievements", () => <Page host={host} />);
}

/** The badges in the host's colours: its theme may be dark or light, and says so only by what its text looks like. */
function Page({ host }: { host: Host }) {
  const box = useRef<HTMLDivElement>(null);
  const [dark, setDark] = useState(true);
  useEffect(() => setDark(isLight(getComputedStyle(box.current!).color)), []);
  return <div className="sojourn-achievements" ref={box} data-theme={dark ? "dark" : "light"}><Achievements host={host} /></div>;
}

function isLight(colour: string): boolean {
  const pen = document.createElement("canvas").getContext("2d")!;
  pen.fillStyle = colour; // whatever way it was written
  pen.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = pen.getImageData(0, 0, 1, 1).data;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 128;
}
