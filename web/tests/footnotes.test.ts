import { describe, expect, it } from "vitest";
import { numberFootnotes } from "@/components/footnotes";
import { parseMarkdown } from "@/components/markdownLexer";

const read = (text: string) => {
  const tokens = parseMarkdown(text);
  const notes = numberFootnotes(tokens).map((note) => [note.number, note.name, note.raw.trim()]);
  return { notes, kinds: tokens.filter((token) => token.type !== "space").map((token) => token.type) };
};

describe("footnotes", () => {
  it("are numbered by the order in which the text refers to them", () => {
    const { notes, kinds } = read("B[^b] then A[^a] then B again[^b].\n\n[^a]: first\n[^b]: second");
    expect(notes).toEqual([
      [1, "b", "[^b]: second"],
      [2, "a", "[^a]: first"],
    ]);
    expect(kinds).toEqual(["paragraph", "footnote", "footnote"]);
  });

  it("take in what is indented below them, and nothing else", () => {
    const { notes, kinds } = read("x[^1]\n\n[^1]: one\n    and more\n\n    second paragraph\n\nafter it\n");
    expect(notes).toEqual([[1, "1", "[^1]: one\n    and more\n\n    second paragraph"]]);
    expect(kinds).toEqual(["paragraph", "footnote", "paragraph"]);
    expect(read("x[^1]\n\n[^1]: one\n## Title\n").kinds).toEqual(["paragraph", "footnote", "heading"]);
  });

  it("are kept if nothing refers to them or a name comes twice", () => {
    expect(read("a[^1]\n\n[^1]: one\n[^1]: two\n[^x]: three").notes).toEqual([
      [1, "1", "[^1]: one"],
      [2, "1", "[^1]: two"],
      [3, "x", "[^x]: three"],
    ]);
  });

  it("without a definition are the text that they are", () => {
    expect(read("see [^7] and [link](https://example.org)").notes).toEqual([]);
  });

  it("need time in proportion to the text", () => {
    const text = Array.from({ length: 4000 }, (_, n) => `[^n${n}]: note ${n}\n\n    more\n`).join("\n");
    expect(read(text).notes.length).toBe(4000);
  });
});
