// Who can answer: each model of each runtime that is ready, and runtimes without models of their own.
import type { RuntimeInfo } from "@/api/types";

export interface ModelChoice {
  key: string;
  label: string;
  runtime: string;
  model: string;
}

export function listModelChoices(runtimes: RuntimeInfo[]): ModelChoice[] {
  return runtimes
    .filter((runtime) => runtime.ok && runtime.offered)
    .flatMap(({ name, label, models }) =>
      models.length
        ? models.map((model) => ({ key: `${name}/${model}`, label: model, runtime: name, model }))
        : [{ key: name, label, runtime: name, model: "" }],
    );
}
