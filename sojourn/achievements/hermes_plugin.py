"""Installs and uninstalls the plugin that shows our badges in the dashboard of a Hermes home.

A user plugin replaces the bundled one of the same name only if `plugins.enabled` in `config.yaml` lists it. Nothing
else in that home changes; `state.json` with the unlock dates is in the same folder and stays.

The dashboard serves the files under `dashboard/` without authentication. So our own files, such as a copy of
`config.yaml`, are stored in the folder above, readable by their owner only.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from sojourn.achievements.document_store import replace_file
from sojourn.core.errors import BadInput, Conflict, SourceUnreadable

NAME = "hermes-achievements"
FILES = ("manifest.json", "plugin_api.py", "dist/index.js", "dist/style.css")
_MAX_WIDTH = 1 << 20  # characters; ruamel must not wrap long lines
_COMMAND, _RECORD = "sojourn.json", "installed-by-sojourn.json"
_SHARED_FILES = ("scan_snapshot.json", "scan_checkpoint.json")  # Hermes' own plugin has files of these names too
_SCAN_FILES = (
    *("scan_journal.jsonl", "scan_status.json", "scan.lock", "scan_snapshot.json.last", "scan_checkpoint.json.last"),
    "scan_journal.jsonl.last",
)


class HermesPlugin:
    """The plugin folder of one Hermes home. `python` is the interpreter that has Sojourn."""

    def __init__(self, home: Path, python: str) -> None:
        self._home, self._python = home.expanduser().absolute(), python
        self._folder = self._home / "plugins" / NAME
        self._dashboard = self._folder / "dashboard"
        self._config = self._home / "config.yaml"
        self._record_file, self._old_record_file = self._folder / _RECORD, self._dashboard / _RECORD

    def changes_to_install(self) -> list[str]:
        """Describes each change that `install` would make; changes nothing."""
        if not self._home.is_dir():
            raise SourceUnreadable(f"There is no Hermes home at {self._home}.", hint="Give it with --hermes-home.")
        if self._dashboard.exists() and not self._is_installed():
            raise Conflict(f"{self._dashboard} is there already and is not ours.", hint="Move it away first.")
        changes = [f"write {self._dashboard / name}" for name in FILES]
        changes += [f"write {self._folder / name}" for name in (_COMMAND, _RECORD)]
        config = self._read_config()
        if is_disabled(config, NAME):
            raise BadInput(f"{self._config} lists {NAME} under plugins.disabled.", hint="Take it out there first.")
        if enable_plugin(config, NAME) != config:
            what = "add" if self._config.exists() else "create, with"
            changes.append(f"{what} {NAME} in plugins.enabled: {self._config}")
        return changes

    def install(self) -> None:
        before = self._read_config()
        after = enable_plugin(before, NAME)
        if not self._is_installed():  # a second install must not overwrite the original state
            record = {"config_existed": self._config.exists(), "config_before": before, "config_after": _digest(after)}
            record["files_before"] = [name for name in _SHARED_FILES if (self._folder / name).exists()]
            _replace(self._record_file, json.dumps(record, indent=2))
        elif self._old_record_file.exists():
            _replace(self._record_file, self._old_record_file.read_text("utf-8"))
            self._old_record_file.unlink()
            (self._dashboard / _COMMAND).unlink(missing_ok=True)
        source = files("sojourn.achievements") / "dropin"
        for name in FILES:
            path = self._dashboard / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text((source / name).read_text("utf-8"), "utf-8")
        run = [self._python, "-P", "-m", "sojourn"]  # without the modules of the folder that Hermes stands in
        command = [*run, "achievements", "answer-hermes", "--hermes-home", str(self._home)]
        _replace(self._folder / _COMMAND, json.dumps({"command": command}, indent=2))
        if after != before:
            _replace(self._config, after)

    def changes_to_uninstall(self) -> list[str]:
        record = self._read_record()
        if record is None:
            return []
        changes = [f"remove {path}" for path in (self._dashboard, self._folder / _COMMAND, self._record_file)]
        if self._restore_config(record) != self._read_config():
            changes.append(f"take {NAME} out of plugins.enabled: {self._config}")
        changes += [f"remove {self._folder / name}" for name in _made_since(record) if (self._folder / name).exists()]
        return changes

    def uninstall(self) -> None:
        record = self._read_record()
        if record is None:
            return
        restored = self._restore_config(record)
        if restored is None:
            self._config.unlink(missing_ok=True)
        elif restored != self._read_config():
            _replace(self._config, restored)
        shutil.rmtree(self._dashboard)
        for name in (*_made_since(record), _COMMAND, _RECORD):
            (self._folder / name).unlink(missing_ok=True)
        with suppress(OSError):  # unlock dates, or plugins of others, are in them
            self._folder.rmdir()
            self._folder.parent.rmdir()

    # -- parts -------------------------------------------------------------

    def _restore_config(self, record: dict[str, Any]) -> str | None:
        """The config without our entry: the original text if it is unchanged since; None if there was no file."""
        now = self._read_config()
        if _digest(now) != record["config_after"]:
            return disable_plugin(now, NAME) if NAME not in record["config_before"] else now
        return record["config_before"] if record["config_existed"] else None

    def _read_config(self) -> str:
        try:
            return self._config.read_bytes().decode("utf-8")  # `read_text` would change the line endings
        except FileNotFoundError:
            return ""

    def _is_installed(self) -> bool:
        return self._record_file.exists() or self._old_record_file.exists()

    def _read_record(self) -> dict[str, Any] | None:
        for path in (self._record_file, self._old_record_file):
            try:
                record: dict[str, Any] = json.loads(path.read_text("utf-8"))
            except (FileNotFoundError, ValueError):
                continue
            return record
        return None


def _made_since(record: Mapping[str, Any]) -> list[str]:
    """The files of scans that were not there before the plugin was installed."""
    before = record.get("files_before", _SHARED_FILES)  # older versions did not write it down
    return [*_SCAN_FILES, *(name for name in _SHARED_FILES if name not in before)]


def _replace(path: Path, text: str) -> None:
    """Replaces a file, or the one that a symlink names."""
    real = path.resolve()
    real.parent.mkdir(parents=True, exist_ok=True)
    replace_file(real, text.encode(), keep_mode=True)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


# -- `plugins.enabled` in config.yaml; comments and line endings are preserved ---------------


def enable_plugin(text: str, name: str) -> str:
    """Returns `text` with `name` in `plugins.enabled`. Raises BadInput if the file cannot be edited."""
    yaml, config = _load(text, name)
    if config is None:  # empty, or comments only: ruamel has nothing to attach them to
        comments = _unix(text).removesuffix("\n") + "\n" if text else ""
        return _with_line_endings_of(text, f"{comments}plugins:\n  enabled:\n    - {name}\n")
    plugins = config.get("plugins")
    if plugins is None:
        plugins = config["plugins"] = CommentedMap()
    if not isinstance(plugins, MutableMapping):
        raise _cannot_edit(name)
    names = plugins.get("enabled")
    if names is None:
        plugins["enabled"] = CommentedSeq([name])
    elif not isinstance(names, CommentedSeq):
        raise _cannot_edit(name)
    elif name in names:
        return text
    else:
        names.insert(0, name)  # comments after a list belong to its last entry
    return _dump(yaml, config, text)


def disable_plugin(text: str, name: str) -> str:
    """Returns `text` without `name` in `plugins.enabled`; unchanged if the name is not there."""
    yaml, config = _load(text, name)
    if not _lists_plugin(config, "enabled", name):
        return text
    plugins = config["plugins"]
    names: CommentedSeq = plugins["enabled"]
    at = names.index(name)
    comment = names.ca.items.pop(at, None)
    del names[at]
    if not names:
        names.fa.set_flow_style()  # `[]`, which has nowhere to keep the comments that followed the entry
        if comment:
            plugins.ca.items["enabled"] = [None, None, comment[0], None]
    elif comment and at:
        _append_comment(names, at - 1, comment)
    return _dump(yaml, config, text)


def is_disabled(text: str, name: str) -> bool:
    """Whether `plugins.disabled` lists `name`."""
    return _lists_plugin(_load(text, name)[1], "disabled", name)


def _lists_plugin(config: Any, key: str, name: str) -> bool:
    plugins = config.get("plugins") if config is not None else None
    names = plugins.get(key) if isinstance(plugins, MutableMapping) else None
    return isinstance(names, CommentedSeq) and name in names


def _append_comment(names: CommentedSeq, at: int, comment: list[Any]) -> None:
    """Adds the comment of a removed entry to that of the entry before it."""
    before = names.ca.items.get(at)
    if before:
        before[0].value += comment[0].value.removeprefix("\n")
    else:
        names.ca.items[at] = comment


def _load(text: str, name: str) -> tuple[YAML, Any]:
    """The parsed document (None if there is nothing in it) and a YAML object that writes it with its indentation."""
    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, _MAX_WIDTH
    try:
        config = yaml.load(_unix(text))
    except YAMLError as error:
        raise _cannot_edit(name) from error
    if config is not None and not isinstance(config, CommentedMap):
        raise _cannot_edit(name)
    if config is not None:
        mapping, offset = _indentation(config)
        yaml.indent(mapping=mapping, sequence=offset + 2, offset=offset)
    return yaml, config


def _indentation(config: CommentedMap) -> tuple[int, int]:
    """The columns by which mappings, and dashes under their key, are indented; preferably in the `plugins` part."""
    parts = [config.get("plugins"), *config.values()]
    blocks = [part for part in parts if isinstance(part, CommentedMap) and part and not part.fa.flow_style()]
    lists = [(part, value) for part in (*blocks, config) for value in part.values() if isinstance(value, CommentedSeq)]
    offsets = (names.lc.col - part.lc.col for part, names in lists if names and not names.fa.flow_style())
    return (blocks[0].lc.col if blocks else 2), next(offsets, 2)


def _dump(yaml: YAML, config: Any, before: str) -> str:
    written = io.StringIO()
    yaml.dump(config, written)
    return _with_line_endings_of(before, written.getvalue())


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _with_line_endings_of(before: str, text: str) -> str:
    return text.replace("\n", "\r\n") if "\r\n" in before else text


def _cannot_edit(name: str) -> BadInput:
    return BadInput(
        "The `plugins` part of config.yaml cannot be edited automatically.",
        hint=f"Add {name} to plugins.enabled yourself, then install again.",
    )
