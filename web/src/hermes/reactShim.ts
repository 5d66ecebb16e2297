// Stands in for the module `react`: the host's React, under the names our files import.
import type * as ReactTypes from "react";

const React =
  (window as unknown as { __HERMES_PLUGIN_SDK__: { React: typeof ReactTypes } }).__HERMES_PLUGIN_SDK__?.React ??
  ({} as typeof ReactTypes);
export default React;
export const { useCallback, useContext, useEffect, useMemo, useRef, useState } = React;
export const createContext: typeof ReactTypes.createContext = React.createContext ?? (() => ({})); // without a host nothing is rendered
export const Fragment = React.Fragment;
