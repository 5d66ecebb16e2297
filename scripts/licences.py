"""Refuses dependencies under the GPL or AGPL, and LGPL ones without a reason: `python scripts/licences.py [lock file]`.

Sojourn is MIT. This reads the installed metadata of all packages in the lock file, except those for other systems.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path

LGPL_REASONS = {
    "psycopg": "optional extra, imported as a library and never changed",
    "psycopg-binary": "optional extra, imported as a library and never changed",
    "psycopg-pool": "optional extra, imported as a library and never changed",
}
_NAME = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[.*\])?==", re.MULTILINE)
_LGPL = re.compile(r"LGPL|Lesser General Public|Library General Public", re.IGNORECASE)
_GPL = re.compile(r"\bA?GPL|(?<!Lesser )(?<!Library )General Public", re.IGNORECASE)


def licences_of(package: PackageMetadata) -> list[str]:
    """What a package says about its licence; the alternatives of an expression, or its classifiers."""
    if "License-Expression" in package:
        return [part.strip("() ") for part in re.split(r"\s+OR\s+", package["License-Expression"])]
    classifiers = [one for one in package.get_all("Classifier") or [] if one.startswith("License ::")]
    return classifiers or [(package.get_all("License") or ["unknown"])[0].strip().split("\n")[0]]


def problem_with(name: str, licences: list[str]) -> str:
    """Why a package may not be a dependency; empty when it may."""
    if licences == ["unknown"] or licences == [""]:
        return "says nothing about its licence"
    if all(_GPL.search(one) for one in licences):
        return f"is under {' / '.join(licences)}"
    if all(_GPL.search(one) or _LGPL.search(one) for one in licences) and name not in LGPL_REASONS:
        return f"is under {' / '.join(licences)}, and LGPL_REASONS in {Path(__file__).name} gives no reason for it"
    return ""


def main() -> int:
    lock = Path(sys.argv[1] if len(sys.argv) > 1 else "requirements.lock")
    checked, problems = 0, []
    for name in sorted(set(_NAME.findall(lock.read_text("utf-8")))):
        try:
            found = metadata(name)
        except PackageNotFoundError:
            continue  # for another system or Python version
        checked += 1
        if problem := problem_with(name, licences_of(found)):
            problems.append(f"{name} {problem}")
    for problem in problems:
        print(f"licences: {problem}", file=sys.stderr)
    if not checked:
        print(f"licences: no package of {lock} is installed", file=sys.stderr)
    return 1 if problems or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
