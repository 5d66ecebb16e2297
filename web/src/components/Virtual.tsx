import { useEffect, useRef, useState, type ReactNode } from "react";

/** A list of any length: only the rows that can be seen are there. All rows have one height. */
export function Virtual<T>({ items, height, row, end, label }: { items: T[]; height: number; row: (item: T, index: number) => ReactNode; end?: () => void; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<[number, number]>([0, 40]);
  const look = () => {
    const at = box.current;
    if (!at) return;
    const first = Math.max(0, Math.floor(at.scrollTop / height) - 8);
    const last = Math.ceil((at.scrollTop + at.clientHeight) / height) + 8;
    setRange((before) => (before[0] === first && before[1] === last ? before : [first, last]));
    if (end && last >= items.length - 100) end();
  };
  useEffect(look, [items.length]);
  useEffect(() => {
    const watch = new ResizeObserver(look);
    watch.observe(box.current!);
    return () => watch.disconnect();
  });
  const [first, last] = range;
  return (
    <div className="virtual" ref={box} onScroll={look} role="list" aria-label={label} tabIndex={0}>
      <div style={{ height: items.length * height, position: "relative" }}>
        {items.slice(first, last).map((item, index) => (
          <div key={first + index} role="listitem" aria-setsize={items.length} aria-posinset={first + index + 1} className="virtual-row" style={{ top: (first + index) * height, height }}>{row(item, first + index)}</div>
        ))}
      </div>
    </div>
  );
}
