"""A byte-code cache for measured programs: they start as installed ones do, compiled once."""

from __future__ import annotations

import os
from pathlib import Path


def build_environment(folder: Path) -> dict[str, str]:
    """Our environment with a byte-code cache in `folder`; the first run compiles for the following ones."""
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment
