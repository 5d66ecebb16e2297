import { expect, test } from "vitest";
import { readableSnippet } from "@/sessions/readableSnippet";

/** A snippet whose matches stand in « ». */
function read(marked: string): string {
  const ranges: Array<[number, number]> = [];
  const kept: string[] = [];
  for (const character of marked) {
    if (character === "«") ranges.push([kept.length, -1]);
    else if (character === "»") ranges.at(-1)![1] = kept.length;
    else kept.push(character);
  }
  const found = readableSnippet(kept.join(""), ranges);
  const shown = Array.from(found.text);
  for (const [from, to] of [...found.ranges].reverse()) {
    shown.splice(to, 0, "»");
    shown.splice(from, 0, "«");
  }
  return shown.join("");
}

test("the arguments of a tool call are read as words", () => {
  expect(read('I will write the «file». «write_file» {"path": "notes.md", "content": "# Notes\\n\\n- water"}')).toBe(
    "I will write the «file». «write_file» path: notes.md, content: # Notes - water",
  );
});

test("a result that begins in its middle keeps its matches", () => {
  expect(read('…milk.\\n2|Ship it", "total_lines": 2, "«file_size»": 29, "truncated": false}')).toBe(
    "…milk. 2|Ship it, total_lines: 2, «file_size»: 29, truncated: false",
  );
});

test("what people wrote stays as it is", () => {
  const said = 'He said "no {way}" to «me» 🌱 [sic]: done';
  expect(read(said)).toBe(said);
});

test("signs beyond the first plane count as one", () => {
  expect(read('🌱🌱 {"name": "«basil»"}')).toBe("🌱🌱 name: «basil»");
});
