"""The system we measure ourselves against: hermes-agent 0.19.0 from PyPI, in a venv of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-hermes"


def python() -> Path:
    """The peer's interpreter; installed on first use."""
    subprocess.run([ROOT / "scripts" / "peer"], check=True, cwd=ROOT)
    return VENV / "bin" / "python"


def ask(script: str, **arguments: Any) -> Any:
    """Runs one of our scripts with the peer's interpreter; its last line is the answer, as JSON."""
    done = subprocess.run(
        [python(), ROOT / "bench" / script, json.dumps(arguments)], check=True, capture_output=True, text=True, cwd=ROOT
    )
    return json.loads(done.stdout.strip().splitlines()[-1])
