// The words around a match, without the syntax of tool calls and their results.

type Range = [number, number];

/** What stands in a snippet for machines, and what a person reads instead. */
const REPLACED: Array<[RegExp, string]> = [
  [/\\[nrt]/g, " "], // an escaped line break
  [/\\(["\\/])/g, "$1"],
  [/"([^"\\{}[\]]{1,60})"\s*:\s*/g, "$1: "], // the name of a field
  [/[{}[\]"]+(?=\s|,|$)|(^|\s|:)[{}[\]"]+/g, "$1"],
  [/\s+,/g, ","],
  [/\s+/g, " "],
];
const LOOKS_LIKE_JSON = /[{[]\s*"|"\s*:\s|\\n/;

/** A snippet as a person reads it, with the ranges of its matches moved along. Ranges count Unicode characters. */
export function readableSnippet(text: string, ranges: Range[]): { text: string; ranges: Range[] } {
  if (!LOOKS_LIKE_JSON.test(text)) return { text, ranges };
  // A private character before and after each match goes through the replacements with the text.
  const characters = Array.from(text.replace(/[\uE000\uE001]/g, " "));
  let marked = "";
  let end = 0;
  for (const [from, to] of ranges) {
    if (from < end) continue;
    marked += `${characters.slice(end, from).join("")}\uE000${characters.slice(from, to).join("")}\uE001`;
    end = to;
  }
  marked += characters.slice(end).join("");
  for (const [pattern, put] of REPLACED) marked = marked.replace(pattern, put);
  return readMarks(marked.trim());
}

function readMarks(marked: string): { text: string; ranges: Range[] } {
  const ranges: Range[] = [];
  const kept: string[] = [];
  let from = 0;
  for (const character of marked) {
    if (character === "\uE000") from = kept.length;
    else if (character === "\uE001") ranges.push([from, kept.length]);
    else kept.push(character);
  }
  return { text: kept.join(""), ranges };
}
