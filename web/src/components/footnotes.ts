// Footnotes of Markdown: `[^name]` in a text, and `[^name]: note` somewhere in the same message.
import { type Token, type TokenizerAndRendererExtension, walkTokens } from "marked";

export interface FootnoteToken {
  type: "footnote";
  raw: string;
  name: string;
  number: number;
  tokens: Token[];
}
export interface FootnoteReferenceToken {
  type: "footnoteReference";
  raw: string;
  name: string;
  number: number; // 0 if there is no such note
  isFirst: boolean; // the note leads back here
}

const DEFINITION = /^ {0,3}\[\^([^\]\s]{1,60})\]:[ \t]*/;
const BLOCK_START = /^ {0,3}(?:#{1,6}\s|```|~~~|>|[-*+]\s|\d{1,9}[.)]\s|\$\$|\|)/;

export const footnote: TokenizerAndRendererExtension = {
  name: "footnote",
  level: "block",
  start: (source) => source.search(/\n {0,3}\[\^[^\]\s]{1,60}\]:/),
  tokenizer(source) {
    const found = DEFINITION.exec(source);
    if (!found) return undefined;
    const raw = source.slice(0, findEnd(source));
    const text = raw.slice(found[0].length).replace(/\n(?: {1,4}|\t)/g, "\n");
    const token: FootnoteToken = { type: "footnote", raw, name: found[1]!, number: 0, tokens: [] };
    this.lexer.blockTokens(text, token.tokens);
    return token;
  },
  childTokens: ["tokens"],
};

export const footnoteReference: TokenizerAndRendererExtension = {
  name: "footnoteReference",
  level: "inline",
  start: (source) => source.indexOf("[^"),
  tokenizer(source) {
    const found = /^\[\^([^\]\s]{1,60})\]/.exec(source);
    if (!found) return undefined;
    return { type: "footnoteReference", raw: found[0], name: found[1]!, number: 0, isFirst: false };
  },
};

/** Where a definition ends: its lines, and after an empty one those that are indented. */
function findEnd(source: string): number {
  let end = 0;
  let isAfterGap = false;
  for (let start = 0; start < source.length; ) {
    const newline = source.indexOf("\n", start);
    const stop = newline < 0 ? source.length : newline + 1;
    const line = source.slice(start, stop);
    if (line.trim() === "") isAfterGap = true;
    else if (start > 0 && isOutside(line, isAfterGap)) break;
    else {
      end = stop;
      isAfterGap = false;
    }
    start = stop;
  }
  return end;
}

const isOutside = (line: string, isAfterGap: boolean): boolean =>
  DEFINITION.test(line) || (isAfterGap ? !/^(?: {2}|\t)/.test(line) : BLOCK_START.test(line));

/** Numbers the notes in the order in which a text refers to them; those that nothing refers to come last. */
export function numberFootnotes(tokens: Token[]): FootnoteToken[] {
  const notes: FootnoteToken[] = [];
  const references: FootnoteReferenceToken[] = [];
  walkTokens(tokens, (token) => {
    if (token.type === "footnote") notes.push(token as unknown as FootnoteToken);
    else if (token.type === "footnoteReference") references.push(token as unknown as FootnoteReferenceToken);
  });
  const byName = new Map(notes.map((note) => [note.name, note] as const).reverse()); // of two, the first is meant
  let last = 0;
  for (const reference of references) {
    const note = byName.get(reference.name);
    if (!note) continue;
    reference.isFirst = note.number === 0;
    note.number ||= ++last;
    reference.number = note.number;
  }
  for (const note of notes) note.number ||= ++last;
  return notes.sort((one, other) => one.number - other.number);
}
