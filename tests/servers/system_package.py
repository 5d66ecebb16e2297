"""Debian's servers for tests: installed by `scripts/need` if they are missing, by one test process at a time."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def need(package: str, server: str) -> str:
    """Where the server is. A machine that cannot have it leaves the test out, with words that say what to install."""
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])  # not everybody looks there
    script = ROOT / "scripts" / "need"
    with script.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [script, package, server, "--version"], env=os.environ | {"PATH": path}, capture_output=True, text=True
        )
    if done.returncode:
        pytest.skip(done.stderr.strip())
    found = shutil.which(server, path=path)
    assert found is not None, f"{package} is installed, but there is no {server}"
    return found
