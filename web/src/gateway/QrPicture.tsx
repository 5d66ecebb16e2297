import { usePictureUrl } from "@/components/usePictureUrl";
import css from "./QrPicture.module.css";

/** A QR code that the server drew as SVG, shown as a picture: nothing in it can run. */
export function QrPicture({ picture, label }: { picture: string; label: string }) {
  const url = usePictureUrl(picture);
  return url ? <img className={css.qrPicture} src={url} alt={label} width="220" height="220" /> : null;
}
