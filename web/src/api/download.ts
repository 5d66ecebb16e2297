// Files of the server, fetched with the page key and shown or saved from memory: a plain link could not send it.
import { useEffect, useState } from "react";
import { request } from "@/api/http";

export async function saveFile(url: string, name: string): Promise<void> {
  saveBlob(await (await request(url)).blob(), name);
}

export function saveBlob(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The address of a file in memory, as long as the component is shown; null until it has come. */
export function useFileUrl(url: string, onError: (error: unknown) => void): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    let made = "";
    request(url, { signal: controller.signal })
      .then((response) => response.blob())
      .then((blob) => {
        if (controller.signal.aborted) return;
        made = URL.createObjectURL(blob);
        setAddress(made);
      })
      .catch((error: unknown) => {
        if (!controller.signal.aborted) onError(error);
      });
    return () => {
      controller.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [url]);
  return address;
}
