"""Guarantees: what this machine enforces for a confined program, and by what; for `doctor` and the settings page."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.sandbox.enforcement import SandboxSupport


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """One thing that a program inside cannot do. by: what enforces it; empty when nothing does."""

    what: str
    by: str


def list_guarantees(support: SandboxSupport) -> tuple[Guarantee, ...]:
    """All guarantees, in the same order on every machine."""
    if support.mechanism == "sandbox-exec":
        return tuple(Guarantee(what=what, by="sandbox-exec" if by else "") for what, by in _on_macos().items())
    inside = support.mechanism != "none"
    wrapped, version = support.mechanism == "bubblewrap", support.landlock if inside else 0
    bubble = "bubblewrap" if wrapped else ""
    landlock = f"Landlock {version}" if version else ""
    found = {
        _FILES: _join(landlock if version >= 3 or wrapped else "", bubble),
        _METADATA: bubble,
        _SECRETS: _join(landlock, bubble),
        _NETWORK: _join("seccomp" if inside else "", landlock if version >= 4 else "", bubble),
        _SOCKETS: "seccomp" if inside else "",
        _SIGNALS: _join(landlock if version >= 6 else "", bubble),
        _TREE: _join("its monitor" if inside else "", bubble),
        _LIMITS: "its monitor, resource limits" if inside else "",
    }
    return tuple(Guarantee(what=what, by=by) for what, by in found.items())


_FILES = "changes no file outside the workspace"
_METADATA = "changes no permissions and times outside"
_SECRETS = "reads none of your keys, nor this program's home"
_NETWORK = "reaches no network, unless that was allowed"
_SOCKETS = "reaches no UNIX socket"
_SIGNALS = "sends no signal to your other programs"
_TREE = "leaves nothing running"
_LIMITS = "stays within limits of processes, memory, file size and time, with everything it starts"


def _on_macos() -> dict[str, bool]:
    every = (_FILES, _METADATA, _SECRETS, _NETWORK, _SOCKETS, _SIGNALS, _TREE, _LIMITS)
    return {what: what not in (_TREE, _LIMITS) for what in every}


def _join(*parts: str) -> str:
    return ", ".join(filter(None, parts))
