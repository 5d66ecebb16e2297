"""The drawn tree of errors is the tree of the classes."""

import re

from sojourn.core import errors
from sojourn.core.errors import SojournError

LINE = re.compile(r"^    ([│├└─ ]*)(\w+) +([a-z_]+) +(\d+) +(\d{3})(?: |$)")


def drawn() -> list[tuple[str, str, str, int, int]]:
    """Parent, name, code, exit code and status of each line."""
    found, above = [], ["SojournError"]
    for line in (errors.__doc__ or "").splitlines():
        if hit := LINE.match(line):
            depth = len(hit[1]) // 4
            above[depth:] = [hit[2]]
            found.append((above[depth - 1], hit[2], hit[3], int(hit[4]), int(hit[5])))
    return found


def built(kind: type[SojournError]) -> list[tuple[str, str, str, int, int]]:
    found = []
    for one in kind.__subclasses__():
        if one.__module__ == errors.__name__:
            found.append((kind.__name__, one.__name__, one.code, one.exit_code, one.status))
            found += built(one)
    return found


def test_every_error_is_drawn_where_it_hangs_with_its_codes():
    assert drawn() == built(SojournError)
