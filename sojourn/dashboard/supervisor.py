"""Runs a plugin's program and ends it, with all it started, when whoever asked for it is gone, even if killed.

Plain Python, no imports of ours: `python -I -S supervisor.py <socket fd> <folder> program argument …`. Our stdin
is a pipe whose other end only the server holds; it says nothing, and ends with the server. The program cannot keep us
from seeing that: we are another process.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys


def main() -> int:
    listening, folder, *program = sys.argv[1:]
    child = subprocess.Popen(program, stdin=subprocess.DEVNULL, pass_fds=(int(listening),), process_group=0)
    os.close(int(listening))  # when the program ends, nobody listens any more, and who asks is told at once
    watched = [0]
    if hasattr(os, "pidfd_open"):
        watched.append(os.pidfd_open(child.pid))
    while child.poll() is None:
        ready, _, _ = select.select(watched, [], [], 60 if len(watched) > 1 else 0.2)
        if 0 in ready and not os.read(0, 1):
            break
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left
        os.killpg(child.pid, signal.SIGKILL)
    code = child.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
