import type { KeyboardEvent } from "react";
import type { Selection } from "@/bulk/useSelection";

/** Keys of a list of rows: `x` selects the row in focus, with Shift a range; Ctrl A selects all; Esc ends it. */
export function buildSelectionKeys(selection: Selection) {
  return (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (target.closest("dialog, [role=menu], input:not([type=checkbox])")) return;
    const row = target.closest<HTMLElement>("[data-row]")?.dataset["row"];
    if (event.key === "Escape" && selection.isActive) selection.clear();
    else if (event.key.toLowerCase() === "a" && (event.ctrlKey || event.metaKey)) void selection.selectAll();
    else if (event.key.toLowerCase() === "x" && row !== undefined && !event.ctrlKey && !event.metaKey)
      selection.toggle(Number(row), event.shiftKey);
    else return;
    event.preventDefault();
  };
}
