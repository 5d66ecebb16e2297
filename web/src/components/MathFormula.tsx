import { createElement, type ReactNode, useEffect, useState } from "react";
import css from "./MathFormula.module.css";

type Render = (tex: string, isBlock: boolean) => ReactNode;

let loaded: Render | null = null;

/** A formula in TeX as MathML, which browsers draw by themselves. Until the renderer has loaded, its source. */
export function MathFormula({ tex, isBlock }: { tex: string; isBlock: boolean }) {
  const [render, setRender] = useState<Render | null>(() => loaded);
  useEffect(() => {
    if (render) return;
    void import("@/components/mathml").then((module) => {
      loaded = module.renderMath;
      setRender(() => module.renderMath);
    });
  }, [render]);
  const drawn = render?.(tex, isBlock) ?? <code>{tex}</code>;
  return isBlock ? createElement("div", { className: css.mathBlock, tabIndex: 0 }, drawn) : drawn;
}
