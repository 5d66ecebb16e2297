"""User-Agent headers: which browser on which system, in words that are ours; the header itself is never shown."""

from __future__ import annotations

_BROWSERS = (  # the first that is found: most of them also name those below
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def describe_browser(user_agent: str) -> str:
    """For example "Firefox on Linux"."""
    browser = next((name for sign, name in _BROWSERS if sign in user_agent), "A browser")
    system = next((name for sign, name in _SYSTEMS if sign in user_agent), "")
    return f"{browser} on {system}" if system else browser


def resolves_localhost_names(user_agent: str) -> bool:
    """Whether the browser finds `*.localhost` by itself. Safari asks the system, which may not know it."""
    return "Chrome/" in user_agent or "Firefox/" in user_agent
