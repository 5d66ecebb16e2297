"""Host names in a text that a person wrote: in addresses, and bare ones such as example.org."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"https?://(?:\[([0-9A-Fa-f:.]{2,45})\]|([^\s/?#:@\\<>\"'()\[\]]{1,253}))", re.IGNORECASE)
_BARE = re.compile(r"(?<![\w@./\\-])((?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24})(?![\w@(-])")
_FILE_ENDINGS = frozenset("cc md ml pl ps py rs sh so zip".split())  # noqa: SIM905  domains, but nearly always files


def find_hosts(text: str) -> list[str]:
    """Lists the hosts that a text names, in lower case and ASCII. A bare name that looks like a file does not count."""
    found = [first or second for first, second in _ADDRESS.findall(text)]
    found += [name for name in _BARE.findall(text) if name.rpartition(".")[2].lower() not in _FILE_ENDINGS]
    return list(dict.fromkeys(filter(None, map(normalize_host, found))))


def normalize_host(host: str) -> str:
    """Returns a host name in lower case and ASCII; "" if it cannot be one."""
    try:
        return host.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError:
        return ""
