import { useEffect, useState } from "react";

/** The address of a picture that is there as SVG text, as long as the component is shown. In an <img> nothing in it can run. */
export function usePictureUrl(picture: string): string {
  const [url, setUrl] = useState("");
  useEffect(() => {
    if (!picture || picture.startsWith("data:")) return setUrl(picture);
    const made = URL.createObjectURL(new Blob([picture], { type: "image/svg+xml" }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [picture]);
  return url;
}
