"""Programs are measured as installed ones run: compiled once, whether this machine keeps byte code or not."""

from __future__ import annotations

import os
from pathlib import Path


def environment(folder: Path) -> dict[str, str]:
    """Ours, with a place for byte code in `folder`. What runs there first compiles for those after it."""
    kept = os.environ | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept
