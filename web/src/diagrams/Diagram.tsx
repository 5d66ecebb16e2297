import { type ReactNode, useEffect, useState } from "react";
import { usePictureUrl } from "@/components/usePictureUrl";
import { type Drawing, drawDiagram } from "@/diagrams/diagramRenderer";
import { useMessages } from "@/diagrams/messages";
import { useTheme } from "@/theme";
import css from "./Diagram.module.css";

const TYPING_MS = 350; // a text that still grows is not drawn

/** A Mermaid text as a picture. Its source is shown until it is drawn, if it cannot be drawn, and on request. */
export default function Diagram({ text, source }: { text: string; source: ReactNode }) {
  const { t } = useMessages();
  const theme = useTheme();
  const [drawing, setDrawing] = useState<Drawing | null>(null);
  const [problem, setProblem] = useState("");
  const [isSource, setIsSource] = useState(false);
  const [isFull, setIsFull] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    setProblem("");
    const timer = setTimeout(() => {
      drawDiagram(text, theme).then(
        (drawn) => isCurrent && setDrawing(drawn),
        (error: Error) => {
          if (!isCurrent) return;
          setDrawing(null);
          setProblem(error.message);
        },
      );
    }, TYPING_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text, theme]);
  const url = usePictureUrl(drawing?.picture ?? "");
  const why = problem === "slow" || problem === "large" ? t(`diagram.${problem}`) : problem;
  if (!drawing || !url)
    return (
      <>
        {source}
        {why && <p className={css.diagramProblem}>{t("diagram.failed", { why })}</p>}
      </>
    );
  return (
    <figure className={css.diagram}>
      <figcaption>
        <button className="ghost" onClick={() => setIsSource(!isSource)}>
          {t(isSource ? "diagram.picture" : "diagram.source")}
        </button>
        {!isSource && (
          <button className="ghost" aria-pressed={isFull} onClick={() => setIsFull(!isFull)}>
            {t(isFull ? "diagram.shrink" : "diagram.enlarge")}
          </button>
        )}
      </figcaption>
      {isSource ? (
        source
      ) : (
        <div className={css.diagramPicture} data-full={isFull || undefined} tabIndex={0}>
          <img src={url} alt={drawing.title || t("diagram.label")} width={drawing.width} height={drawing.height} />
        </div>
      )}
    </figure>
  );
}
