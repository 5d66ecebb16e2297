// TeX as MathML, made of React elements of a known few kinds: nothing that KaTeX writes is taken as HTML. Loaded with the first
// formula.
import katex from "katex";
import { createElement, type ReactNode } from "react";

const ELEMENTS = new Set([
  "math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder", "mover",
  "munderover", "mmultiscripts", "mprescripts", "none", "mtable", "mtr", "mtd", "mlabeledtr", "mstyle", "mpadded", "mphantom",
  "menclose", "merror", "semantics",
]); // biome-ignore format: one list
const ATTRIBUTES = new Set([
  "display",
  "mathvariant",
  "stretchy",
  "fence",
  "separator",
  "accent",
  "accentunder",
  "linethickness",
  "rowspacing",
  "columnspacing",
  "columnalign",
  "rowalign",
  "columnlines",
  "rowlines",
  "width",
  "height",
  "depth",
  "voffset",
  "lspace",
  "rspace",
  "minsize",
  "maxsize",
  "scriptlevel",
  "displaystyle",
  "notation",
  "mathcolor",
  "mathbackground",
  "symmetric",
  "largeop",
  "movablelimits",
  "form",
]);

/** The formula; null if KaTeX does not understand it. */
export function renderMath(tex: string, isBlock: boolean): ReactNode {
  try {
    const markup = katex.renderToString(tex, {
      output: "mathml",
      displayMode: isBlock,
      throwOnError: true,
      trust: false,
      maxExpand: 200,
    });
    const root = new DOMParser().parseFromString(markup, "text/html").querySelector("math");
    return root ? toElement(root, 0) : null;
  } catch {
    return null;
  }
}

function toElement(node: Element, key: number): ReactNode {
  const name = node.localName;
  if (!ELEMENTS.has(name)) return null; // the annotation that repeats the source, among others
  const properties: Record<string, string | number> = { key };
  for (const { name: attribute, value } of node.attributes)
    if (ATTRIBUTES.has(attribute)) properties[attribute] = value;
  const children = [...node.childNodes].map((child, index) =>
    child instanceof Element ? toElement(child, index) : child.textContent,
  );
  return createElement(name, properties, ...children);
}
