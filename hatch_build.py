"""Puts the built pages into wheel and sdist. A clone without Node can still be installed for development."""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Pages(BuildHookInterface[Any]):
    """Builds the pages unless they are there: an sdist carries them, so a wheel made of one needs no Node."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if version == "editable" or not (root / "web").is_dir():
            return
        subprocess.run([str(root / "scripts" / "web")], check=True)
