"""Measures of a Python tree: lengths, names and import strings. `check_names` and `shape` report them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


def _split(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Nouns of the trade that happen to end in -ing.
ING_NOUNS = frozenset(
    {
        "formatting",
        "mining",  # data mining
        "pairing",  # device pairing
        "sequence_mining",
        "stemming",
        "streaming",
        "testing",
    }
)
METAPHORS = _split(
    "bell bells course desk desks door doors letter letters line lines parcel parcels pen pens post purse "
    "shelf shelves wheel"
)
# Participles that say what happened to a value, not what the function does.
PARTICIPLES = _split(
    "told shown said asked named listed known refused made built kept fitted fitting cut written parsed translated "
    "escaped decoded"
)
UNITS = _split(
    "seconds second ms us ns minutes hours days weeks bytes kb mb gb kib mib chars characters tokens lines rows items "
    "entries count counts pixels px percent ratio share usd cents port ports version versions level levels "
    "messages sessions events calls turns attempts retries tries times words terms steps workers processes "
    "threads files depth width columns score weight factor id bits mode code status hz"
)
IMPORT_STRING = re.compile(r"sojourn(\.\w+)+:\w+(\.\w+)*")
READING_PACKAGES = ("core", "ports", "service")


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method: where it is defined and how many lines it has."""

    module: str
    name: str
    line: int
    length: int
    is_property: bool

    @property
    def where(self) -> str:
        return f"{self.module}:{self.name}"


@dataclass(frozen=True)
class Module:
    """One source file, parsed. `path` is relative to the tree's parent: `sojourn/core/events.py`."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def name(self) -> str:
        """The word that an import uses: the file's stem, or the folder's name for an `__init__.py`."""
        path = Path(self.path)
        return path.parent.name if path.stem == "__init__" else path.stem

    @property
    def package(self) -> str:
        parts = Path(self.path).parts
        return parts[1] if len(parts) > 2 else parts[-1]

    def count_code_lines(self) -> int:
        """Lines that hold code: not blank, and neither comment nor docstring."""
        silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        spans = [(one.start[0], one.end[0]) for one in tokens if one.type not in silent and one.string]
        code = {line for first, last in spans for line in range(first, last + 1)}
        return len(code - set(self._docstring_lines()))

    def _docstring_lines(self) -> Iterator[int]:
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        for node in ast.walk(self.tree):
            if isinstance(node, kinds) and ast.get_docstring(node) is not None:
                yield from range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)

    def declares_plugin(self) -> bool:
        names = [one for node in self.tree.body if isinstance(node, ast.Assign) for one in node.targets]
        return any(isinstance(one, ast.Name) and one.id == "plugin" for one in names)

    def functions(self) -> Iterator[Function]:
        """Every function, the nested ones included."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                is_property = any("property" in ast.unparse(one) for one in node.decorator_list)
                yield Function(self.path, node.name, node.lineno, length, is_property)

    def public_classes(self) -> Iterator[str]:
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name

    def unitless_constants(self) -> Iterator[str]:
        """Module-level numeric constants with no unit in the name and no comment on the line."""
        for node in self.tree.body:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            if "#" in self.lines[(node.end_lineno or node.lineno) - 1]:
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            for name in _numeric_names(target, node.value):
                if name.isupper() and not UNITS & set(name.lower().split("_")):
                    yield name

    def import_strings(self) -> Iterator[str]:
        """`"sojourn.x:y"` outside `Plugin(...)` and `Lazy(...)`: imports that mypy and import-linter cannot see."""
        inside = {
            id(part)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("Plugin", "Lazy")
            for part in ast.walk(node)
        }
        for node in ast.walk(self.tree):
            value = node.value if isinstance(node, ast.Constant) and id(node) not in inside else None
            if isinstance(value, str) and IMPORT_STRING.fullmatch(value):
                yield value


def _numeric_names(target: ast.expr, value: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name) and _is_number(value):
        yield target.id
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, given in zip(target.elts, value.elts, strict=False):
            yield from _numeric_names(one, given)


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    return isinstance(value, ast.BinOp) and _is_number(value.left) and _is_number(value.right)


class Tree:
    """All modules below a folder."""

    def __init__(self, root: Path) -> None:
        files = sorted(path for path in root.rglob("*.py") if "__pycache__" not in path.parts)
        self.modules = [
            Module(path.relative_to(root.parent).as_posix(), path.read_text(encoding="utf-8")) for path in files
        ]

    def lines_by_package(self) -> Counter[str]:
        counted = Counter[str]()
        for module in self.modules:
            counted[module.package] += len(module.lines)
        return counted

    def reading_lines(self) -> int:
        """The lines of `core`, `ports` and `service`: what a newcomer reads first."""
        counted = self.lines_by_package()
        return sum(counted[package] for package in READING_PACKAGES)

    def gerund_modules(self) -> list[str]:
        return [one.path for one in self.modules if one.name.endswith("ing") and one.name not in ING_NOUNS]

    def metaphor_modules(self) -> list[str]:
        return [one.path for one in self.modules if one.name in METAPHORS]

    def participle_functions(self) -> list[str]:
        """Functions whose whole name is a participle: `told`, `_shown`."""
        found = (one for module in self.modules for one in module.functions() if not one.is_property)
        return [one.where for one in found if one.name.strip("_") in PARTICIPLES]

    def duplicate_classes(self) -> dict[str, list[str]]:
        """Public class names that more than one module defines, with those modules."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for module in self.modules:
            for name in module.public_classes():
                found[name].append(module.path)
        return {name: where for name, where in sorted(found.items()) if len(where) > 1}

    def unitless_constants(self) -> list[str]:
        return [f"{module.path}:{name}" for module in self.modules for name in module.unitless_constants()]

    def import_strings(self) -> list[str]:
        return [f"{module.path}: {text}" for module in self.modules for text in module.import_strings()]

    def format_skips(self) -> int:
        return sum(module.text.count("# fmt: " + "skip") for module in self.modules)

    def file_lengths(self) -> list[tuple[int, str]]:
        return sorted(((len(one.lines), one.path) for one in self.modules), reverse=True)

    def adapter_lengths(self) -> list[tuple[int, str]]:
        """Lines of code of each chat network: of its folder, settings included, or of its file. What several networks
        share stands beside the folders and is not counted."""
        counted = Counter[str]()
        for module in self.modules:
            parts = Path(module.path).parts[1:]
            if parts[0] == "platforms" and (len(parts) > 2 or module.declares_plugin()):
                counted["/".join(parts[:2])] += module.count_code_lines()
        return sorted(((lines, name) for name, lines in counted.items()), reverse=True)

    def function_lengths(self) -> list[tuple[int, str]]:
        found = ((one.length, one.where) for module in self.modules for one in module.functions())
        return sorted(found, reverse=True)
