import { type ReactNode, useEffect, useState } from "react";
import { useMessages } from "@/achievements/messages";
import { Dialog } from "@/components/Dialog";
import { CARD_HEIGHT, CARD_WIDTH } from "./cardCanvas";

interface Props {
  title: string;
  alt: string;
  fileName: string;
  draw: (() => Promise<Blob>) | null; // null until what it shows is there
  children?: ReactNode; // what to choose, above the picture
  close: () => void;
}

/** A picture that is drawn here, to be saved or copied. `draw` draws it anew whenever it changes. */
export function PictureDialog({ title, alt, fileName, draw, children, close }: Props) {
  const { t } = useMessages();
  const [image, setImage] = useState<{ blob: Blob; url: string } | null>(null);
  const [error, setError] = useState("");
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    let url = "";
    let isClosed = false;
    draw?.().then(
      (blob) => {
        if (isClosed) return;
        url = URL.createObjectURL(blob);
        setImage({ blob, url });
      },
      (problem: Error) => setError(problem.message),
    );
    return () => {
      isClosed = true;
      if (url) URL.revokeObjectURL(url);
    };
  }, [draw]);

  const copy = async () => {
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": image!.blob })]);
      setCopied(true);
      setTimeout(() => setCopied(false), 1800);
    } catch {
      setError(t("ach.share.nocopy"));
    }
  };

  return (
    <Dialog label={title} close={close} isWide closeLabel={t("action.close")}>
      <h2>{title}</h2>
      {children}
      {image ? (
        <img className="ach-share" src={image.url} width={CARD_WIDTH} height={CARD_HEIGHT} alt={alt} />
      ) : (
        <div className="ach-share ach-shimmer" role="status">
          {t("ach.share.drawing")}
        </div>
      )}
      {error && <p role="alert">{error}</p>}
      <div className="row">
        <a className="button primary" aria-disabled={!image} href={image?.url} download={fileName}>
          {t("ach.share.download")}
        </a>
        <button className="button" disabled={!image} onClick={() => void copy()}>
          {copied ? t("ach.share.copied") : t("ach.share.copy")}
        </button>
      </div>
      <p className="dim">{t("ach.share.note")}</p>
    </Dialog>
  );
}
