"""Changes config.toml: one key or table at a time, with its comments kept, never readable by others."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from sojourn.core.errors import BadConfig, SojournError
from sojourn.settings.table import LOOK_SECONDS

try:
    import fcntl as _fcntl
except ImportError:  # not on Windows; two changes at the same moment may then lose one
    _fcntl = None  # type: ignore[assignment]
fcntl: Any = _fcntl

FILE_NAME = "config.toml"
Change = Callable[[tomlkit.TOMLDocument], None]


def change_file(home: Path, change: Change, check: Callable[[], object] = lambda: None) -> None:
    """Applies a change to config.toml and keeps it only if `check`, which reads the new file, raises nothing."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = home / FILE_NAME
    with _locked(home):
        before = file.read_text("utf-8") if file.exists() else None
        _write_private(file, _edit(before or "", change))
        try:
            check()
        except SojournError:
            if before is None:
                file.unlink()
            else:
                _write_private(file, before)
            raise


def set_value(document: tomlkit.TOMLDocument, name: str, value: Any) -> None:
    """Sets the key `table.key`; its comment stays."""
    *tables, key = name.split(".")
    table = _find_table(document, tables)
    old = table.get(key)
    table[key] = new = tomlkit.item(value)
    if isinstance(old, tomlkit.items.Item):
        new.trivia.comment_ws, new.trivia.comment = old.trivia.comment_ws, old.trivia.comment


def remove_value(document: tomlkit.TOMLDocument, name: str) -> None:
    """Removes the key `table.key`, if it is there."""
    *tables, key = name.split(".")
    table: Any = document
    for one in tables:
        table = table.get(one, {})
    if key in table:
        table.remove(key)


def set_plugin_table(document: tomlkit.TOMLDocument, plugin: str, values: Mapping[str, Any]) -> None:
    """Makes `[plugins.<name>]` hold these keys and no others."""
    set_table(document, ["plugins", plugin], values)


def remove_plugin_table(document: tomlkit.TOMLDocument, plugin: str) -> None:
    """Removes `[plugins.<name>]`, if it is there."""
    remove_table(document, ["plugins", plugin])


def set_table(document: tomlkit.TOMLDocument, path: Sequence[str], values: Mapping[str, Any]) -> None:
    """Makes the table at a path hold these keys and no others."""
    table = _find_table(document, path)
    for name in [one for one in table if one not in values]:
        table.remove(name)
    for name, value in values.items():
        table[name] = value


def remove_table(document: tomlkit.TOMLDocument, path: Sequence[str]) -> None:
    """Removes the table at a path, if it is there."""
    with suppress(KeyError):
        parent: Any = document
        for name in path[:-1]:
            parent = parent[name]
        parent.remove(path[-1])


def _find_table(document: tomlkit.TOMLDocument, path: Sequence[str]) -> Any:
    table: Any = document
    for name in path:
        if name not in table:
            table[name] = tomlkit.table()
        table = table[name]
    return table


def _edit(text: str, change: Change) -> str:
    try:
        document = tomlkit.parse(text)
        change(document)
        changed = tomlkit.dumps(document)
    except (TOMLKitError, TypeError, AttributeError, ValueError) as error:
        raise BadConfig(
            f"{FILE_NAME} cannot be changed without breaking it: {error}.",
            hint="Correct it by hand: `sojourn config path` says where it is.",
        ) from error
    return changed if changed.endswith("\n") else changed + "\n"


def _write_private(file: Path, text: str) -> None:
    """Replaces the file atomically; only its owner may read it, because it may hold secrets."""
    descriptor, part = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
        Path(part).replace(file)
        time.sleep(LOOK_SECONDS)  # from here on every process sees it
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """One change at a time, over all processes."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(home / f".{FILE_NAME}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
