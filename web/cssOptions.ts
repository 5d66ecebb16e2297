// CSS modules keep their class names readable in the page; a unit test refuses one name in two modules.
import type { CSSOptions } from "vite";

export const cssOptions: CSSOptions = {
  modules: { generateScopedName: "[local]", localsConvention: "camelCaseOnly" },
};
