"""Installs and uninstalls the plugin that shows our badges in the dashboard of a Hermes home.

A user plugin of the same name takes the place of the bundled one, but only if it is in `plugins.enabled`;
so one line of `config.yaml` is needed too. Nothing else in that home is changed, and `state.json`, which
holds the unlock dates, lies in the same folder and is never touched here.

The dashboard gives the files under `dashboard/` to anybody who asks, without a token. So what we note for
ourselves, a copy of `config.yaml` among it, lies above that folder and is for its owner only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from sojourn.achievements.plugin_config import disable_plugin, enable_plugin, is_disabled
from sojourn.core.errors import BadInput, Conflict, SourceUnreadable

NAME = "hermes-achievements"
FILES = ("manifest.json", "plugin_api.py", "dist/index.js", "dist/style.css")
_COMMAND, _RECORD = "sojourn.json", "installed-by-sojourn.json"
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
        command = [self._python, "-m", "sojourn", "achievements", "answer-hermes", "--hermes-home", str(self._home)]
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
        changes += [f"remove {self._folder / name}" for name in _SCAN_FILES if (self._folder / name).exists()]
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
        for name in (*_SCAN_FILES, _COMMAND, _RECORD):
            (self._folder / name).unlink(missing_ok=True)

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


def _replace(path: Path, text: str) -> None:
    """Replaces a file atomically. A new file is readable by its owner only; an existing one keeps its mode."""
    real = path.resolve()
    real.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if real.exists():
            shutil.copymode(real, name)
        Path(name).replace(real)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
