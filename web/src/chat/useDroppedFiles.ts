import { useEffect, useRef, useState } from "react";

/** Takes files that are dropped anywhere on the page, which the browser would open instead. Says whether some are being dragged. */
export function useDroppedFiles(add: (files: File[]) => void): boolean {
  const [isDragging, setIsDragging] = useState(false);
  const latest = useRef(add);
  latest.current = add;
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const handleOver = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setIsDragging(true);
    };
    const handleLeave = (event: DragEvent) => {
      if (!event.relatedTarget) setIsDragging(false);
    };
    const handleDrop = (event: DragEvent) => {
      setIsDragging(false);
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      latest.current([...event.dataTransfer.files]);
    };
    document.addEventListener("dragover", handleOver);
    document.addEventListener("dragleave", handleLeave);
    document.addEventListener("drop", handleDrop);
    return () => {
      document.removeEventListener("dragover", handleOver);
      document.removeEventListener("dragleave", handleLeave);
      document.removeEventListener("drop", handleDrop);
    };
  }, []);
  return isDragging;
}
