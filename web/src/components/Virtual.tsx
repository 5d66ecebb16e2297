import { useCallback, useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

interface Props {
  count: number;
  height: number;
  row: (index: number) => ReactNode;
  seen?: (first: number, last: number) => void;
  label: string;
}

const AROUND = 8; // rows kept above and below what can be seen

/** A list of any length: only the rows that can be seen are there. All rows have one height. Home, End, the page keys and the
 * arrows go from row to row, however far away it is. */
export function Virtual({ count, height, row, seen, label }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<[number, number]>([0, 40]);
  const [wanted, setWanted] = useState<number | null>(null); // the row the keys went to
  const look = useCallback(() => {
    const at = box.current;
    if (!at) return;
    const first = Math.max(0, Math.floor(at.scrollTop / height) - AROUND);
    const last = Math.min(count, Math.ceil((at.scrollTop + at.clientHeight) / height) + AROUND);
    setRange((before) => (before[0] === first && before[1] === last ? before : [first, last]));
    seen?.(first, last);
  }, [count, height, seen]);
  useEffect(() => {
    look();
    const watch = new ResizeObserver(look);
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, [look]);
  useEffect(() => {
    if (wanted === null || !box.current?.contains(document.activeElement)) return;
    const link = box.current.querySelector<HTMLElement>(`[data-row="${wanted}"] a`);
    (link ?? box.current).focus({ preventScroll: true }); // a row that is not loaded yet gets it when it is
  });

  const pressed = (event: KeyboardEvent) => {
    const at = box.current!;
    if (!count || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(at.clientHeight / height) - 1);
    const focused = Number((document.activeElement?.closest("[data-row]") as HTMLElement | null)?.dataset["row"] ?? NaN);
    const now = Number.isNaN(focused) ? (wanted ?? Math.ceil(at.scrollTop / height) - 1) : focused;
    const moves: Record<string, number> = { ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: count - 1 };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = Math.min(count - 1, Math.max(0, to));
    const top = next * height;
    if (top < at.scrollTop) at.scrollTop = top;
    else if (top + height > at.scrollTop + at.clientHeight) at.scrollTop = top + height - at.clientHeight;
    setWanted(next);
  };

  const [first, last] = range;
  const shown = Array.from({ length: Math.max(0, Math.min(last, count) - first) }, (_, index) => first + index);
  return (
    <div className="virtual" ref={box} onScroll={look} onKeyDown={pressed} onPointerDown={() => setWanted(null)} role="list" aria-label={label} tabIndex={0}>
      <div style={{ height: count * height, position: "relative" }}>
        {shown.map((index) => (
          <div key={index} data-row={index} role="listitem" aria-setsize={count} aria-posinset={index + 1} className="virtual-row" style={{ top: index * height, height }}>{row(index)}</div>
        ))}
      </div>
    </div>
  );
}
