// Words of program text by kind, as elements with classes: no HTML is made of what a model wrote. Loaded with the first code block.
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

const colours = createLowlight({ bash, c, css, diff, go, ini, java, json, python, rust, sql, typescript, xml, yaml });
colours.registerAlias({ bash: ["sh", "zsh", "shell", "console"], typescript: ["ts", "tsx", "js", "jsx", "javascript", "mjs"], c: ["cpp", "c++", "h", "hpp"], ini: ["toml"], xml: ["html", "svg"] });

interface Node {
  type: string;
  value?: string;
  children?: Node[];
  properties?: { className?: unknown };
}

export function paint(text: string, language: string): ReactNode[] | null {
  const name = language.trim().toLowerCase().split(/\s/)[0]!;
  return colours.registered(name) ? elements((colours.highlight(name, text) as Node).children ?? []) : null;
}

function elements(nodes: Node[]): ReactNode[] {
  return nodes.map((node, key) => {
    if (node.type === "text") return node.value ?? "";
    const kinds = node.properties?.className;
    return createElement("span", { key, className: Array.isArray(kinds) ? kinds.join(" ") : undefined }, elements(node.children ?? []));
  });
}
