"""Refuses dependencies under the GPL, AGPL or LGPL: part of `make check`. Sojourn is MIT.

`LGPL_EXCEPTIONS` lists the LGPL libraries that are used nevertheless, each with its reason.

Looks at everything that `pip install "sojourn[…]"` would bring, extras included; `dev` is not shipped.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NOT_SHIPPED = frozenset({"dev"})
_SEPARATE = "an unmodified, separately installed package behind an extra: its user can replace it, as the LGPL asks"
LGPL_EXCEPTIONS = {
    "psycopg": f"the PostgreSQL driver; {_SEPARATE}",
    "psycopg-binary": f"the compiled part of psycopg; {_SEPARATE}",
    "psycopg-pool": f"the connection pool of psycopg; {_SEPARATE}",
    "python-telegram-bot": f"the Telegram client; {_SEPARATE}",
}
STRONG_COPYLEFT = re.compile(r"(?<!L)(?<!Lesser )\bA?GPL|(?<!Lesser )(?:GNU )?(?:Affero )?General Public License", re.I)
LESSER = re.compile(r"\bLGPL|Lesser General Public License|Library or Lesser", re.I)


def licence_of(found: Distribution) -> str:
    """The licence as the package declares it: SPDX expression, else classifiers, else the first line of the field."""
    about = found.metadata
    if expressions := about.get_all("License-Expression"):
        return str(expressions[0])
    classifiers = [one.rpartition(" :: ")[2] for one in about.get_all("Classifier") or [] if one.startswith("License")]
    named = [one for one in classifiers if one != "OSI Approved"]
    return " OR ".join(named) or (about.get_all("License") or [""])[0].strip().split("\n")[0]


def is_refused(licence: str, package: str = "") -> bool:
    """Whether every alternative of the licence is GPL, AGPL, or LGPL without an exception for the package."""
    return all(
        STRONG_COPYLEFT.search(LESSER.sub("", one)) or (LESSER.search(one) and package not in LGPL_EXCEPTIONS)
        for one in re.split(r"\bOR\b", licence)
    )


def _requirements(found: Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    for text in found.requires or []:
        need = Requirement(text)
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield need


def shipped_packages(
    find: Callable[[str], Distribution] = distribution, root: str = "sojourn"
) -> dict[str, Distribution]:
    """Every installed package that Sojourn or one of its extras needs, directly or not."""
    extras = frozenset(find(root).metadata.get_all("Provides-Extra") or []) - NOT_SHIPPED
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(root, extras)]
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        try:
            found[name] = find(name)
        except PackageNotFoundError:  # for another system, or another Python
            continue
        waiting += [
            (canonicalize_name(need.name), frozenset(need.extras)) for need in _requirements(found[name], wanted)
        ]
    return found


def main() -> int:
    shipped = {name: licence_of(one) for name, one in shipped_packages().items()}
    refused = {name: licence for name, licence in shipped.items() if is_refused(licence, name)}
    unneeded = sorted(name for name in LGPL_EXCEPTIONS if name in shipped and not LESSER.search(shipped[name]))
    for name in unneeded:
        print(f"{name} is under {shipped[name]}: remove it from LGPL_EXCEPTIONS.")
    for name, licence in sorted(refused.items()):
        print(f"{name} is under {licence}: an MIT project cannot ship with it. Find another library.")
    return 1 if refused or unneeded else 0


if __name__ == "__main__":
    sys.exit(main())
