"""Proxies of the environment, for libraries that do not look for one themselves."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def find_proxy(url: str) -> str:
    """The proxy of the environment or of the system, unless it exempts the host of this address; empty if none."""
    proxies = getproxies()
    if proxy_bypass(urlsplit(url).hostname or ""):
        return ""
    found = next((proxies[one] for one in ("https", "http", "all") if proxies.get(one)), "")
    return found if not found or "://" in found else f"http://{found}"
