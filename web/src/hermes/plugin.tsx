// The achievements page as a plugin of a Hermes dashboard: a classic script that uses the host's React.
import { useEffect, useRef, useState } from "react";
import { AchievementsPanel } from "@/achievements/AchievementsPanel";
import type { AchievementsHost } from "@/achievements/types";
import "@/hermes/hostTheme.css";
import "@/achievements/achievements.css";
import "@/achievements/badges.css";
import "@/achievements/moment.css";

interface Sdk {
  fetchJSON(path: string, init?: RequestInit): Promise<unknown>;
}
interface Registry {
  register(name: string, component: () => unknown): void;
}
const sdk = (window as unknown as { __HERMES_PLUGIN_SDK__?: Sdk }).__HERMES_PLUGIN_SDK__;
const plugins = (window as unknown as { __HERMES_PLUGINS__?: Registry }).__HERMES_PLUGINS__;

if (sdk && plugins) {
  const host: AchievementsHost = {
    fetchJson: <T,>(path: string, init?: RequestInit) => sdk.fetchJSON(path, init) as Promise<T>,
    openSession: null,
    getSessionUrl: () => "",
    insightsApi: null,
  };
  plugins.register("hermes-achievements", () => <HermesAchievements host={host} />);
}

/** The panel in the host's colours; whether its theme is dark follows from its text colour. */
function HermesAchievements({ host }: { host: AchievementsHost }) {
  const box = useRef<HTMLDivElement>(null);
  const [isDark, setIsDark] = useState(true);
  useEffect(() => setIsDark(isLight(getComputedStyle(box.current!).color)), []);
  return (
    <div className="sojourn-achievements" ref={box} data-theme={isDark ? "dark" : "light"}>
      <AchievementsPanel host={host} />
    </div>
  );
}

function isLight(colour: string): boolean {
  const context = document.createElement("canvas").getContext("2d")!;
  context.fillStyle = colour; // any CSS notation
  context.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 128;
}
