"""Debian packages that tests need: installed by `scripts/need` if missing, by one test process at a time."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def require_program(package: str, program: str) -> str:
    """The path of a program, installed if missing; where it cannot be installed the test is skipped with the reason."""
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])  # not on everybody's PATH
    script = ROOT / "scripts" / "need"
    with script.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [script, package, program, "--version"], env=os.environ | {"PATH": path}, capture_output=True, text=True
        )
    if done.returncode:
        pytest.skip(done.stderr.strip())
    found = shutil.which(program, path=path)
    assert found is not None, f"{package} is installed, but there is no {program}"
    return found
