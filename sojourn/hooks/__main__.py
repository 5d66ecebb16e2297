"""`python -m sojourn.hooks PROGRAM --home HOME`: what the hook of another program runs."""

import sys

from sojourn.hooks.hook_process import run

if __name__ == "__main__":
    run(sys.argv[1:])
