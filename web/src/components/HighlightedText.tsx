import type { ReactNode } from "react";

/** A text with some of its ranges in <mark>. Ranges count Unicode characters, not UTF-16 units. */
export function HighlightedText({ text, ranges }: { text: string; ranges: Array<[number, number]> }) {
  const characters = Array.from(text);
  const pieces: ReactNode[] = [];
  let end = 0;
  for (const [from, to] of ranges) {
    if (from < end) continue;
    pieces.push(characters.slice(end, from).join(""), <mark key={from}>{characters.slice(from, to).join("")}</mark>);
    end = to;
  }
  pieces.push(characters.slice(end).join(""));
  return <>{pieces}</>;
}
