"""Optional packages: which of those that a part needs are missing, and their installation into this environment.

A part is named by an extra of our own package: a network, a provider of models, `mcp`. Only what our metadata names
for it is installed, and only after a person has said yes.
"""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution, metadata, requires
from importlib.util import find_spec

from sojourn.core.errors import MissingPackage
from sojourn.processes.supervisor import Watch, start

_OURS = "sojourn"
_INSTALL_SECONDS = 600.0
_SHOWN_LINES = 6  # of the installer's output, when it fails


def list_extras() -> list[str]:
    """The extras of our package that a person may want; `dev` is for us."""
    try:
        return sorted(set(metadata(_OURS).get_all("Provides-Extra") or []) - {"dev"})
    except PackageNotFoundError:  # run from a folder, without being installed
        return []


def list_missing_packages(part: str) -> list[str]:
    """What the extra named `part` would add, as requirements; empty for a part that needs nothing more."""
    try:
        wanted = list_requirements(part, requires(_OURS) or [])
    except PackageNotFoundError:  # run from a folder, without being installed
        return []
    return [one for one in wanted if not _is_installed(one)]


def list_encryption_packages(plugin: str) -> list[str]:
    """What a network needs besides for chats that are encrypted end to end; empty if it has none, or has it all."""
    return list_missing_packages(f"{plugin}-e2e")


def list_requirements(extra: str, declared: list[str]) -> list[str]:
    """The requirements of an extra; one that names another extra of ours is replaced by what that one needs."""
    found, extra = list[str](), extra.replace("_", "-")  # as metadata writes it
    for one in declared:
        requirement, _, marker = one.partition(";")
        if not re.search(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]", marker) or not _is_for_this_python(marker):
            continue
        nested = re.fullmatch(rf"{_OURS}\[([\w,-]+)\]", requirement.strip())
        if nested:
            found += [two for name in nested[1].split(",") for two in list_requirements(name, declared)]
        else:
            found.append(requirement.strip())
    return list(dict.fromkeys(found))


def _is_for_this_python(marker: str) -> bool:
    """Whether a marker lets this version of Python have the package; we use `python_version <` alone."""
    before = re.search(r"python_version\s*<\s*['\"](\d+)\.(\d+)['\"]", marker)
    return before is None or sys.version_info[:2] < (int(before[1]), int(before[2]))


def _is_installed(requirement: str) -> bool:
    """Whether a package is there, and what its extras need: `matrix-nio[e2e]`."""
    name = re.match(r"([A-Za-z0-9._-]+)(?:\[([\w,-]+)\])?", requirement)
    try:
        found = distribution(name[1] if name else requirement)
    except PackageNotFoundError:
        return False
    extras = name[2].split(",") if name and name[2] else []
    return all(_is_installed(one) for extra in extras for one in list_requirements(extra, found.requires or []))


def build_install_command(packages: list[str]) -> list[str]:
    """The command that installs packages where this program runs. MissingPackage if there is no installer."""
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable, *packages]
    if find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip", "install", "--disable-pip-version-check", *packages]
    needed = " ".join(f'"{one}"' for one in packages)
    raise MissingPackage("There is neither uv nor pip to install packages with.", hint=f"Install them: {needed}.")


async def install_packages(packages: list[str]) -> None:
    """Installs packages into the environment of this program. MissingPackage says why it failed."""
    # Not where the person works: an installer reads settings there, which may name other sources.
    child = await start(build_install_command(packages), cwd=sys.prefix, watch=Watch())
    try:
        is_over = await child.wait(_INSTALL_SECONDS)
    finally:
        await child.end()
    importlib.invalidate_caches()
    if not is_over or child.process.returncode:
        said = "\n".join(child.output.text().strip().splitlines()[-_SHOWN_LINES:])
        reason = f":\n{said}" if is_over else f" within {_INSTALL_SECONDS:.0f} seconds."
        raise MissingPackage(f"The packages could not be installed{reason}", hint="Nothing was set up.")
