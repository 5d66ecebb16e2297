// The JSX runtime that the compiler imports, on top of the host's React.createElement.
import React, { Fragment } from "./reactShim";

type Props = Record<string, unknown> & { children?: unknown };

export { Fragment };
export function jsx(type: unknown, { children, ...props }: Props, key?: string) {
  const propsWithKey = key === undefined ? props : { ...props, key };
  const childList = children === undefined ? [] : Array.isArray(children) ? children : [children];
  return (React.createElement as (type: unknown, props: unknown, ...children: unknown[]) => unknown)(
    type,
    propsWithKey,
    ...childList,
  );
}
export const jsxs = jsx;
