import { expect, it } from "vitest";
import type { RuntimeInfo } from "@/api/types";
import { listModelChoices } from "@/compare/modelChoices";

const runtime = (name: string, ok: boolean, models: string[]) => ({ name, label: name, ok, models }) as RuntimeInfo;

it("offers each model of what is ready, and what has no models by its name", () => {
  const choices = listModelChoices([
    runtime("native", true, ["big", "small"]),
    runtime("echo", true, []),
    runtime("acp", false, ["other"]),
  ]);
  expect(choices.map(({ key, runtime: name, model }) => [key, name, model])).toEqual([
    ["native/big", "native", "big"],
    ["native/small", "native", "small"],
    ["echo", "echo", ""],
  ]);
});
