"""The longest files and functions, and the lines of each package: `make shape`.

We like files of 60 to 250 lines that split before 400, and functions that fit on a screen. Nothing fails
here: a look before each commit is enough.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

LONG_FILE, LONG_FUNCTION, SHOWN = 250, 50, 12


def functions(path: Path) -> Iterator[tuple[int, str]]:
    """Each function's length in lines and where it is."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.end_lineno - node.lineno + 1, f"{path}:{node.lineno} {node.name}"


def show(title: str, rows: list[tuple[int, str]], long: int) -> None:
    print(f"\n{title}")
    for lines, what in sorted(rows, reverse=True)[:SHOWN]:
        print(f"  {lines:5} {'!' if lines > long else ' '} {what}")


def main(root: Path) -> None:
    files = [(len(path.read_text(encoding="utf-8").splitlines()), path) for path in root.rglob("*.py")]
    packages = Counter[str]()
    for lines, path in files:
        packages[path.relative_to(root).parts[0]] += lines

    show(f"files (over {LONG_FILE}: !)", [(lines, str(path)) for lines, path in files], LONG_FILE)
    show(f"functions (over {LONG_FUNCTION}: !)", [f for _, path in files for f in functions(path)], LONG_FUNCTION)
    print("\npackages")
    for package, lines in packages.most_common():
        print(f"  {lines:5}   {package}")
    print(f"  {packages.total():5}   in all, {len(files)} files")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
