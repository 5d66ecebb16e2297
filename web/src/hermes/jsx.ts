// What the compiler makes of our tags, said in the words of the host's React.
import React, { Fragment } from "./react";

type Props = Record<string, unknown> & { children?: unknown };

export { Fragment };
export function jsx(type: unknown, { children, ...props }: Props, key?: string) {
  const given = key === undefined ? props : { ...props, key };
  const inside = children === undefined ? [] : Array.isArray(children) ? children : [children];
  return (React.createElement as (type: unknown, props: unknown, ...children: unknown[]) => unknown)(type, given, ...inside);
}
export const jsxs = jsx;
