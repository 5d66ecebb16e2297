import { expect, it } from "vitest";
import type { RuntimeInfo } from "@/api/types";
import { listModelChoices } from "@/compare/modelChoices";

const runtime = (name: string, ok: boolean, models: string[], offered = true) =>
  ({ name, label: name, ok, models, offered }) as RuntimeInfo;

it("offers each model of what is ready, and what has no models by its name", () => {
  const choices = listModelChoices([
    runtime("native", true, ["big", "small"]),
    runtime("offline", true, []),
    runtime("echo", true, [], false),
    runtime("acp", false, ["other"]),
  ]);
  expect(choices.map(({ key, runtime: name, model }) => [key, name, model])).toEqual([
    ["native/big", "native", "big"],
    ["native/small", "native", "small"],
    ["offline", "offline", ""],
  ]);
});
