import { expect, test } from "vitest";
import type { FoundHistory } from "@/api/types";
import { listNewHistories } from "@/histories/importedSessions";

const history = (source: string, sessions: number, problem = ""): FoundHistory => ({
  source,
  home: `/home/${source}`,
  version: "",
  sessions,
  bytes: 1,
  problem,
});

test("a history whose sessions are all here is not offered again", () => {
  const found = [history("hermes", 17), history("codex", 3), history("opencode", 0), history("goose", 2, "locked")];
  expect(listNewHistories(found, {}).map((one) => one.source)).toEqual(["hermes", "codex"]);
  expect(listNewHistories(found, { hermes: 17, codex: 2 }).map((one) => one.source)).toEqual(["codex"]);
  expect(listNewHistories(found, { hermes: 17, codex: 3 })).toEqual([]);
});
