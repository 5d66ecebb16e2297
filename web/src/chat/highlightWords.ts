// Marks the words of a search in a message without changing it, where the browser can (CSS Custom Highlight API).
const NAME = "found-words";

/** Marks every occurrence of the words below an element, and unmarks those of before. */
export function highlightWords(element: HTMLElement | null, words: string): void {
  if (typeof CSS === "undefined" || !("highlights" in CSS)) return;
  CSS.highlights.delete(NAME);
  const terms = words.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  if (!element || !terms.length) return;
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.textContent!.toLowerCase();
    for (const term of terms)
      for (let at = text.indexOf(term); at >= 0 && ranges.length < 500; at = text.indexOf(term, at + term.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + term.length);
        ranges.push(range);
      }
  }
  CSS.highlights.set(NAME, new Highlight(...ranges));
}
