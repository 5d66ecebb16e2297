import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const SRC = join(import.meta.dirname, "../src");
const files = readdirSync(SRC, { recursive: true, encoding: "utf-8" });
const read = (name: string) => readFileSync(join(SRC, name), "utf-8");
const modules = files.filter((name) => name.endsWith(".module.css"));
const listClasses = (css: string) => {
  const selectors = css.replace(/\/\*.*?\*\//gs, "").replace(/\{[^{}]*\}/g, "{}");
  return new Set([...selectors.matchAll(/\.([a-zA-Z][\w-]*)/g)].map((found) => found[1]!));
};
const globals = listClasses(
  files
    .filter((name) => name.startsWith("styles/"))
    .map(read)
    .join("\n"),
);
const toCamelCase = (name: string) => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

describe("style sheets", () => {
  it("define a class in one module only", () => {
    const owners = new Map<string, string>();
    for (const name of modules)
      for (const found of listClasses(read(name))) {
        if (globals.has(found)) continue;
        expect([found, owners.get(found) ?? name]).toEqual([found, name]);
        owners.set(found, name);
      }
  });

  it("have every class that a component asks for", () => {
    for (const name of files.filter((file) => file.endsWith(".tsx"))) {
      const text = read(name);
      const module = /import css from "\.\/([^"]+)"/.exec(text)?.[1];
      if (!module) continue;
      const known = new Set([...listClasses(read(join(dirname(name), module)))].map(toCamelCase));
      for (const [, used] of text.matchAll(/\bcss\.(\w+)/g))
        expect([name, used, known.has(used!)]).toEqual([name, used, true]);
    }
  });
});

it("no file is longer than 300 lines", () => {
  const long = files.filter(
    (name) => /\.(tsx?|css)$/.test(name) && name !== "api/schema.ts" && read(name).split("\n").length > 301,
  );
  expect(long).toEqual([]);
});
