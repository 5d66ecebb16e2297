"""macOS: the sandbox policy as a profile for `sandbox-exec`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sojourn.sandbox.policy import SandboxPolicy, writable_devices

_ALWAYS = """(version 1)
(deny default)
(allow process-fork)
(allow process-exec)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow file-read-metadata)
(allow file-read* (literal "/"))"""


def build_profile(policy: SandboxPolicy) -> str:
    """The profile. A later rule beats an earlier one, so what is hidden stands last."""
    rules = [_ALWAYS, _rule("allow file-read*", [*policy.read, *policy.write])]
    rules.append(_rule("allow file-write*", [*policy.write, *writable_devices(terminals=False)]))
    if policy.network:
        rules.append("(allow network-outbound (remote ip))\n(allow network-inbound (local ip))\n(allow system-socket)")
    if policy.hidden:
        rules.append(_rule("deny file-read* file-write*", policy.hidden))
    return "\n".join(rules) + "\n"


def _rule(action: str, places: Iterable[Path]) -> str:
    return f"({action} {' '.join(f'(subpath {_quote(str(one))})' for one in places)})"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
