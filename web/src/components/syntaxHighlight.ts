// Syntax highlighting as React elements with classes, never as HTML. Loaded with the first code block.
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import { createElement, type ReactNode } from "react";

const highlighter = createLowlight({
  bash,
  c,
  css,
  diff,
  go,
  ini,
  java,
  json,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
});
highlighter.registerAlias({
  bash: ["sh", "zsh", "shell", "console"],
  typescript: ["ts", "tsx", "js", "jsx", "javascript", "mjs"],
  c: ["cpp", "c++", "h", "hpp"],
  ini: ["toml"],
  xml: ["html", "svg"],
});

interface SyntaxNode {
  type: string;
  value?: string;
  children?: SyntaxNode[];
  properties?: { className?: unknown };
}

export function highlight(text: string, language: string): ReactNode[] | null {
  const name = language.trim().toLowerCase().split(/\s/)[0]!;
  return highlighter.registered(name)
    ? toElements((highlighter.highlight(name, text) as SyntaxNode).children ?? [])
    : null;
}

function toElements(nodes: SyntaxNode[]): ReactNode[] {
  return nodes.map((node, key) => {
    if (node.type === "text") return node.value ?? "";
    const classes = node.properties?.className;
    return createElement(
      "span",
      { key, className: Array.isArray(classes) ? classes.join(" ") : undefined },
      toElements(node.children ?? []),
    );
  });
}
