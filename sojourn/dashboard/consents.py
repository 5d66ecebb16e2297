"""Which plugins a person turned on, and what they agreed to then: one small file each in `<home>/plugins-enabled/`.

Beside the plugins and not among them, so that no plugin can bring its own consent along. It belongs to this machine,
as the plugin's code does, and not to a store that several machines share.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from sojourn.core.errors import BadConfig, StoreReadOnly
from sojourn.dashboard.plugin_folders import Folder
from sojourn.dashboard.plugin_manifest import NAME

State = Literal["on", "off", "asks", "broken"]  # asks: it needs more than was agreed to, and is off until then


@dataclass(frozen=True, slots=True)
class Consents:
    """What was agreed to in this home."""

    home: Path

    def agreed(self, name: str) -> frozenset[str] | None:
        """The needs a person agreed to; None when the plugin is off. BadConfig when that cannot be known."""
        file = self._file(name)
        try:
            return frozenset(str(need) for need in json.loads(file.read_text("utf-8"))["needs"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadConfig(
                f"{file} cannot be read: {error}.", hint=f"Remove it, then `sojourn plugins enable {name}`."
            ) from error

    def state(self, folder: Folder) -> State:
        """Whether a plugin may run. BadConfig as above."""
        if folder.manifest is None:
            return "broken"
        agreed = self.agreed(folder.name)
        if agreed is None:
            return "off"
        return "on" if agreed.issuperset(folder.manifest.needs) else "asks"

    def give(self, name: str, needs: Sequence[str]) -> None:
        """Turns it on. The file appears whole or not at all."""
        file = self._file(name)
        fresh = file.with_name(f".{name}.{os.getpid()}")
        told = {"needs": list(needs), "at": datetime.now(UTC).isoformat(timespec="seconds")}
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh.write_text(json.dumps(told) + "\n", "utf-8")
            fresh.replace(file)
        except OSError as error:
            raise _unwritable(file, error) from error

    def take_back(self, name: str) -> bool:
        """Turns it off; whether it was on."""
        try:
            self._file(name).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unwritable(self._file(name), error) from error
        return True

    def _file(self, name: str) -> Path:
        if not NAME.fullmatch(name):
            raise BadConfig(f"{name!r} cannot be the name of a plugin.", hint="Use a-z, 0-9, - and _.")
        return self.home / "plugins-enabled" / f"{name}.json"


def _unwritable(file: Path, error: OSError) -> StoreReadOnly:
    return StoreReadOnly(f"{file} cannot be written: {error.strerror}.", hint="Check the permissions of the home.")
