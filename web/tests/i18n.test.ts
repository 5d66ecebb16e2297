import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fillMessage } from "@/i18n";

const SRC = join(import.meta.dirname, "../src");
const folders = readdirSync(SRC, { recursive: true, encoding: "utf-8" }).filter((name) => name.endsWith("en.json"));
const read = (name: string): Record<string, string> => JSON.parse(readFileSync(join(SRC, name), "utf-8"));

describe("messages", () => {
  it("fill in values and choose the plural", () => {
    expect(fillMessage("{n} {n|session|sessions}", { n: 1 })).toBe("1 session");
    expect(fillMessage("{n} {n|session|sessions}", { n: "2,000" })).toBe("2,000 sessions");
    expect(fillMessage("{n|One memory was|{n} memories were} used", { n: 1 })).toContain("One memory was");
    expect(fillMessage("Hello {name}", {})).toBe("Hello {name}");
  });

  it.each(folders)("%s has the same keys and placeholders in Chinese", (name) => {
    const [english, chinese] = [read(name), read(name.replace("en.json", "zh.json"))];
    expect(Object.keys(chinese).sort()).toEqual(Object.keys(english).sort());
    const placeholders = (text: string) => [...new Set([...text.matchAll(/\{(\w+)/g)].map((found) => found[1]))].sort();
    for (const key of Object.keys(english))
      expect([key, placeholders(chinese[key]!)]).toEqual([key, placeholders(english[key]!)]);
  });

  it.each(folders)("%s says “1 thing”, never “1 things”", (name) => {
    for (const [key, text] of Object.entries(read(name)))
      expect([key, /\{n\} [a-z]+s\b/.test(text)]).toEqual([key, false]);
  });
});
