"""Puts a plugin into a Hermes home that shows our badges in its dashboard, and takes it out again.

A user plugin of the same name takes the place of the bundled one, but only if it is in `plugins.enabled`;
so one line of `config.yaml` is needed too. Nothing else in that home is changed, and `state.json`, which
holds the unlock dates, lies in the same folder and is never touched here.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

from sojourn.achievements.enabling import disabled_in, enable, forget_enabled
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

    def changes_to_install(self) -> list[str]:
        """What installing would do, one line each; nothing has happened yet."""
        if not self._home.is_dir():
            raise SourceUnreadable(f"There is no Hermes home at {self._home}.", hint="Give it with --hermes-home.")
        if self._dashboard.exists() and not (self._dashboard / _RECORD).exists():
            raise Conflict(f"{self._dashboard} is there already and is not ours.", hint="Move it away first.")
        changes = [f"write {self._dashboard / name}" for name in (*FILES, _COMMAND, _RECORD)]
        config = self._read_config()
        if disabled_in(config, NAME):
            raise BadInput(f"{self._config} lists {NAME} under plugins.disabled.", hint="Take it out there first.")
        if enable(config, NAME) != config:
            what = "add" if self._config.exists() else "create, with"
            changes.append(f"{what} {NAME} in plugins.enabled: {self._config}")
        return changes

    def install(self) -> None:
        before = self._read_config()
        after = enable(before, NAME)
        if not (self._dashboard / _RECORD).exists():  # installing again must not forget how it was at first
            record = {"config_existed": self._config.exists(), "config_before": before, "config_after": _digest(after)}
            self._write(_RECORD, json.dumps(record, indent=2))
        source = files("sojourn.achievements") / "dropin"
        for name in FILES:
            self._write(name, (source / name).read_text("utf-8"))
        command = [self._python, "-m", "sojourn", "achievements", "answer-hermes", "--hermes-home", str(self._home)]
        self._write(_COMMAND, json.dumps({"command": command}, indent=2))
        if after != before:
            self._config.write_text(after, "utf-8")

    def changes_to_uninstall(self) -> list[str]:
        record = self._record()
        if record is None:
            return []
        changes = [f"remove {self._dashboard}"]
        if self._config_restored(record) != self._read_config():
            changes.append(f"take {NAME} out of plugins.enabled: {self._config}")
        changes += [f"remove {self._folder / name}" for name in _SCAN_FILES if (self._folder / name).exists()]
        return changes

    def uninstall(self) -> None:
        record = self._record()
        if record is None:
            return
        restored = self._config_restored(record)
        if restored is None:
            self._config.unlink(missing_ok=True)
        elif restored != self._read_config():
            self._config.write_text(restored, "utf-8")
        shutil.rmtree(self._dashboard)
        for name in _SCAN_FILES:
            (self._folder / name).unlink(missing_ok=True)

    # -- parts -------------------------------------------------------------

    def _config_restored(self, record: dict[str, Any]) -> str | None:
        """The configuration without us: as it was, if nobody changed it since; None if there was none."""
        now = self._read_config()
        if _digest(now) != record["config_after"]:
            return forget_enabled(now, NAME) if NAME not in record["config_before"] else now
        return record["config_before"] if record["config_existed"] else None

    def _read_config(self) -> str:
        try:
            return self._config.read_text("utf-8")
        except FileNotFoundError:
            return ""

    def _record(self) -> dict[str, Any] | None:
        try:
            record: dict[str, Any] = json.loads((self._dashboard / _RECORD).read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return record

    def _write(self, name: str, text: str) -> None:
        path = self._dashboard / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
