"""What every client of the matrix does: runs its cells, and prints them as one JSON object.

usage: python <client>.py BASE_URL TOKEN PICTURE (base64)
"""

import json
import sys
import traceback

ORIGIN, TOKEN, PICTURE = sys.argv[1:4]
TURNS = 30
QUESTION = "Say hello."


def run(name, **cells):
    """Runs each cell; one that raises gives the error's text, which is a result too."""
    results = {}
    for cell, work in cells.items():
        try:
            results[cell] = work()
        except Exception as error:  # noqa: BLE001  the error is the result
            results[cell] = f"{type(error).__name__}: {error}"
            print(traceback.format_exc(), file=sys.stderr)
    print(json.dumps({"client": name, **results}), flush=True)


def talk(name, ask):
    """A stateless conversation: the whole of it is sent each time."""
    messages = []
    for number in range(TURNS):
        messages.append(("user", f"Turn {number} of {name}"))
        messages.append(("assistant", ask(messages)))
    return len(messages)
