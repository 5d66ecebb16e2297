import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import css from "./VirtualList.module.css";

interface Props {
  count: number;
  rowHeight: number;
  renderRow: (index: number) => ReactNode;
  onRangeChange?: (first: number, last: number) => void;
  label: string;
  onKey?: (event: KeyboardEvent) => void; // keys that are not used to move
}

const OVERSCAN_ROWS = 8; // rendered above and below the visible rows

/** A list of any length that renders only its visible rows, all of one height. Home, End, the page keys and the arrows move the
 * focus to any row, loaded or not. */
export function VirtualList({ count, rowHeight, renderRow, onRangeChange, label, onKey }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<[number, number]>([0, 40]);
  const [focusedRow, setFocusedRow] = useState<number | null>(null); // the row that the keys moved to
  const updateRange = useCallback(() => {
    const element = list.current;
    if (!element) return;
    const first = Math.max(0, Math.floor(element.scrollTop / rowHeight) - OVERSCAN_ROWS);
    const last = Math.min(count, Math.ceil((element.scrollTop + element.clientHeight) / rowHeight) + OVERSCAN_ROWS);
    setRange((before) => (before[0] === first && before[1] === last ? before : [first, last]));
    onRangeChange?.(first, last);
  }, [count, rowHeight, onRangeChange]);
  useEffect(() => {
    updateRange();
    const observer = new ResizeObserver(updateRange);
    observer.observe(list.current!);
    return () => observer.disconnect();
  }, [updateRange]);
  useEffect(() => {
    if (focusedRow === null || !list.current?.contains(document.activeElement)) return;
    const link = list.current.querySelector<HTMLElement>(`[data-row="${focusedRow}"] a`);
    (link ?? list.current).focus({ preventScroll: true }); // a row that is still loading gets the focus when it is there
  });

  const handleKey = (event: KeyboardEvent) => {
    const element = list.current!;
    onKey?.(event);
    if (event.defaultPrevented || !count || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(element.clientHeight / rowHeight) - 1);
    const activeRow = Number(
      (document.activeElement?.closest("[data-row]") as HTMLElement | null)?.dataset["row"] ?? NaN,
    );
    const current = Number.isNaN(activeRow) ? (focusedRow ?? Math.ceil(element.scrollTop / rowHeight) - 1) : activeRow;
    const targets: Record<string, number> = {
      ArrowDown: current + 1,
      ArrowUp: current - 1,
      PageDown: current + page,
      PageUp: current - page,
      Home: 0,
      End: count - 1,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const next = Math.min(count - 1, Math.max(0, target));
    const top = next * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowHeight - element.clientHeight;
    setFocusedRow(next);
  };

  const [first, last] = range;
  const visibleRows = Array.from({ length: Math.max(0, Math.min(last, count) - first) }, (_, index) => first + index);
  return (
    <div
      className={css.virtualList}
      ref={list}
      onScroll={updateRange}
      onKeyDown={handleKey}
      onPointerDown={() => setFocusedRow(null)}
      role="list"
      aria-label={label}
      tabIndex={0}
    >
      <div style={{ height: count * rowHeight, position: "relative" }}>
        {visibleRows.map((index) => (
          <div
            key={index}
            data-row={index}
            role="listitem"
            aria-setsize={count}
            aria-posinset={index + 1}
            className={css.virtualListRow}
            style={{ top: index * rowHeight, height: rowHeight }}
          >
            {renderRow(index)}
          </div>
        ))}
      </div>
    </div>
  );
}
