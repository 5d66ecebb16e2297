import { expect, test, vi } from "vitest";
import { compareNetworks } from "@/gateway/NetworkList";
import type { Network } from "@/gateway/networksApi";

vi.stubGlobal("localStorage", { getItem: () => "en" });
const network = (name: string, is_configured = false) => ({ name, is_configured }) as Network;

test("networks that are set up come first, then what most people look for", () => {
  const all = [
    network("bluebubbles"),
    network("api_server"),
    network("slack"),
    network("irc", true),
    network("telegram"),
  ];
  expect(all.sort(compareNetworks).map((one) => one.name)).toEqual([
    "irc",
    "telegram",
    "slack",
    "api_server",
    "bluebubbles",
  ]);
});
