"""Home files: what is the person's in a home beside the store, saved into an archive and put back."""

from __future__ import annotations

import io
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from sojourn.core.errors import BadInput

SAVED_FOLDERS = ("notes", "skills", "session-templates", "plugin-data", "plugins-enabled", "achievements", "outputs")
LEFT_OUT_FOLDERS = ("workspace", "guests", "plugins", "models")  # large, or to be had again
CONFIG_NAME = "config.toml"
_SECRET_KEY = re.compile(r"token$|secret|passw|api_?key|_key$|credential|database_url|dsn", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFiles:
    """What an archive holds, and what it does not."""

    path: Path | None  # None if there was nothing to save
    files: int = 0
    left_out: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()  # settings whose values are not in it


def archive_beside(backup: Path) -> Path:
    """The archive that belongs to a backup of the store."""
    return backup.with_name(f"{backup.stem}.files.tar.gz")


def save_home_files(home: Path, archive: Path) -> SavedFiles:
    """Writes the archive, readable by its owner only. Links are left out, and so are secrets of `config.toml`."""
    found = list(_list_files(home))
    config, secrets = _read_config(home)
    left_out = tuple(name for name in LEFT_OUT_FOLDERS if (home / name).is_dir())
    if not found and config is None:
        return SavedFiles(path=None, left_out=left_out)
    descriptor = os.open(archive, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as packed:
        for path in found:
            packed.add(path, str(path.relative_to(home)), recursive=False)
        if config is not None:
            entry = tarfile.TarInfo(CONFIG_NAME)
            entry.size, entry.mode = len(config), 0o600
            packed.addfile(entry, io.BytesIO(config))
    return SavedFiles(path=archive, files=len(found) + (config is not None), left_out=left_out, secrets=secrets)


def restore_home_files(home: Path, archive: Path) -> int:
    """Puts back the files that are missing in the home; those that are there stay. Returns their number. BadInput."""
    try:
        with tarfile.open(archive, mode="r:gz") as packed:
            missing = [one for one in packed if one.isfile() and not (home / one.name).exists()]
            for one in missing:
                packed.extract(one, home, filter="data")
            return len(missing)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise BadInput(f"{archive} cannot be read: {error}.", hint="The store itself was restored.") from error


def _list_files(home: Path) -> Iterator[Path]:
    for name in SAVED_FOLDERS:
        for folder, folders, files in os.walk(home / name):
            folders[:] = sorted(one for one in folders if not (Path(folder) / one).is_symlink())
            yield from (
                path for one in sorted(files) if (path := Path(folder) / one).is_file() and not path.is_symlink()
            )


def _read_config(home: Path) -> tuple[bytes | None, tuple[str, ...]]:
    """`config.toml` without the values that are secret, and the names of those. None for a file that is not TOML: it
    could hold anything."""
    try:
        document = tomlkit.parse((home / CONFIG_NAME).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, TOMLKitError):
        return None, ()
    removed = tuple(_drop_secrets(document))
    return tomlkit.dumps(document).encode(), removed


def _drop_secrets(table: Any, prefix: str = "") -> Iterator[str]:
    for key in list(table):
        value, name = table[key], f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _drop_secrets(value, f"{name}.")
        elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
            for one in value:
                yield from _drop_secrets(one, f"{name}.")
        elif _SECRET_KEY.search(str(key)) or prefix.rstrip(".").endswith((".env", ".headers")):
            del table[key]
            yield name


def remove_old_backups(newest: Path, keep: int) -> list[Path]:
    """Removes all but the newest `keep` backups of the folder of `newest`, with their archives; returns them."""
    found = sorted(newest.parent.glob("sojourn-*.db"), key=lambda one: (one.stat().st_mtime_ns, one.name), reverse=True)
    old = [one for one in found if one != newest][keep - 1 :]
    for one in old:
        one.unlink()
        archive_beside(one).unlink(missing_ok=True)
    return old
