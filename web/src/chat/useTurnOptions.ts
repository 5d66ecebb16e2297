import { useEffect, useState } from "react";

export interface TurnOptions {
  runtime: string;
  model: string;
  template: string;
}

const NO_OPTIONS: TurnOptions = { runtime: "", model: "", template: "" };
const getStorageName = (id: string) => `sojourn.options.${id || "new"}`;

function readOptions(id: string): TurnOptions {
  const stored =
    localStorage.getItem(getStorageName(id)) ?? (id ? sessionStorage.getItem("sojourn.options.latest") : null);
  try {
    return { ...NO_OPTIONS, ...(JSON.parse(stored ?? "{}") as Partial<TurnOptions>) };
  } catch {
    return NO_OPTIONS;
  }
}

export function storeTurnOptions(id: string, options: TurnOptions): void {
  localStorage.setItem(getStorageName(id), JSON.stringify(options));
}

/** Who answers in a conversation, remembered for each. What was chosen for a new one goes with it. */
export function useTurnOptions(id: string): [TurnOptions, (options: TurnOptions) => void] {
  const [options, setOptions] = useState(() => readOptions(id));
  useEffect(() => {
    if (id) {
      storeTurnOptions(id, options);
      sessionStorage.removeItem("sojourn.options.latest");
    } else sessionStorage.setItem("sojourn.options.latest", JSON.stringify(options));
  }, [id, options]);
  return [options, setOptions];
}
