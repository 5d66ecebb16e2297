"""Runs a program and ends it when whoever asked for it is gone, even if they were killed. Plain Python, no imports
of ours: `python -I -S watcher.py <pid of the parent> program argument …`, as the leader of a group of its own."""

import os
import signal
import subprocess
import sys
import time


def main() -> int:
    parent = int(sys.argv[1])
    child = subprocess.Popen(sys.argv[2:])
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # they are for the program; its end is ours
        signal.signal(one, lambda number, _: child.send_signal(number))
    while True:
        try:
            code = child.wait(0.5)
        except subprocess.TimeoutExpired:
            if os.getppid() == parent:
                continue
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.killpg(0, signal.SIGTERM)
            time.sleep(1)
            os.killpg(0, signal.SIGKILL)
            return 1
        return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
