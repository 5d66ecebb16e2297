// Markdown split into parts. Formulas are parts of their own: as ordinary text they would lose their backslashes.
import { Marked, type Token, type TokenizerAndRendererExtension } from "marked";
import { footnote, footnoteReference } from "@/components/footnotes";

export interface MathToken {
  type: "math" | "mathBlock";
  raw: string;
  text: string;
}

const BLOCK = /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])(?:\n|$)/;
const INLINE = /^(?:\\\((.+?)\\\)|\$\$([^$\n]+?)\$\$|\$(?![\s\d.,]*\$)((?:[^$\n\\]|\\.)*?[^\s\\$])\$(?!\d))/;

const mathBlock: TokenizerAndRendererExtension = {
  name: "mathBlock",
  level: "block",
  start: (source) => source.search(/\$\$|\\\[/),
  tokenizer(source) {
    const found = BLOCK.exec(source);
    return found ? { type: "mathBlock", raw: found[0], text: (found[1] ?? found[2] ?? "").trim() } : undefined;
  },
};

const math: TokenizerAndRendererExtension = {
  name: "math",
  level: "inline",
  start: (source) => source.search(/\$|\\\(/),
  tokenizer(source) {
    const found = INLINE.exec(source);
    if (!found || /^\$\s/.test(found[0])) return undefined;
    return { type: "math", raw: found[0], text: (found[1] ?? found[2] ?? found[3] ?? "").trim() };
  },
};

const lexer = new Marked({ extensions: [mathBlock, math, footnote, footnoteReference] });

export const parseMarkdown = (text: string): Token[] => lexer.lexer(text);
