"""Prints the size and the names of a tree, each figure beside its goal: `make shape`.

Nothing fails here; `make check` holds the limits (`scripts/check_names.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from scripts.check_names import MOST_ADAPTER_LINES, MOST_FILE_LINES, MOST_FUNCTION_LINES
from scripts.code_measures import Tree

SHOWN_ROWS = 12
MOST_READING_LINES = 4700
MOST_TOTAL_LINES = 56_000


def show_longest(title: str, rows: Iterable[tuple[int, str]], most: int) -> None:
    print(f"\n{title} (goal: at most {most})")
    for lines, where in list(rows)[:SHOWN_ROWS]:
        print(f"  {lines:6,} {'!' if lines > most else ' '} {where}")


def show_figure(name: str, value: int, goal: int) -> None:
    print(f"  {value:6,} {'!' if value > goal else ' '} {name} (goal: at most {goal:,})")


def main(root: Path) -> None:
    tree = Tree(root)
    packages = tree.lines_by_package()
    print("lines of each package")
    for package, lines in packages.most_common():
        print(f"  {lines:6,}   {package}")

    print("\nlines")
    show_figure("core + ports + service", tree.reading_lines(), MOST_READING_LINES)
    show_figure("all packages without testing", packages.total() - packages["testing"], MOST_TOTAL_LINES)
    show_longest("longest files", tree.file_lengths(), MOST_FILE_LINES)
    show_longest("longest functions", tree.function_lengths(), MOST_FUNCTION_LINES)

    show_longest("longest adapters, lines of code", tree.adapter_lengths(), MOST_ADAPTER_LINES)

    print("\nnames")
    show_figure("modules that end in -ing", len(tree.gerund_modules()), 0)
    show_figure("modules named by a metaphor", len(tree.metaphor_modules()), 0)
    show_figure("functions named by a participle", len(tree.participle_functions()), 0)
    show_figure("public class names used twice", len(tree.duplicate_classes()), 0)
    show_figure("numeric constants without a unit", len(tree.unitless_constants()), 0)
    show_figure("import strings outside Plugin(...) and Lazy(...)", len(tree.import_strings()), 0)
    show_figure("fmt: skip", tree.format_skips(), 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
