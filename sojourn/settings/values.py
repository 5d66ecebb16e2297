"""Values of settings: each is parsed to its type, and refused with what was expected."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any

from sojourn.core.errors import BadConfig
from sojourn.core.settings import Secret
from sojourn.settings.formats import check_format
from sojourn.settings.table import Setting

_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def parse_setting(setting: Setting, raw: Any, where: str, user_home: Path) -> Any:
    """The value in its type. BadConfig says what was expected, and names the place."""
    if setting.kind == "yes/no":
        word = str(raw).strip().lower()
        if word in _YES or word in _NO:
            return word in _YES
    elif setting.kind == "number":
        try:
            number = None if isinstance(raw, (bool, float)) else int(raw)
        except (TypeError, ValueError):
            number = None
        if number is not None and _is_in_range(setting, number):
            return number
    elif setting.kind == "decimal":
        try:
            amount = None if isinstance(raw, bool) else float(raw)
        except (TypeError, ValueError):
            amount = None
        if amount is not None and isfinite(amount) and _is_in_range(setting, amount):
            return amount
    elif setting.kind == "secret" and isinstance(raw, (str, int)):
        return Secret(raw)
    elif setting.kind == "path":
        return parse_path(str(raw), user_home)
    elif isinstance(raw, str) and (not setting.choices or raw in setting.choices):
        check_format(setting.name, raw)
        return raw
    raise BadConfig(
        f"{where} is {raw!r}, which is not {_describe_kind(setting)}.", hint=f"Example: {setting.default!r}."
    )


def _is_in_range(setting: Setting, number: float) -> bool:
    return setting.limits is None or setting.limits[0] <= number <= setting.limits[1]


def _describe_kind(setting: Setting) -> str:
    if setting.kind == "number":
        return "a whole number" + _range(setting)
    if setting.kind == "decimal":
        return "a number" + _range(setting)
    if setting.choices:
        return f"one of {', '.join(setting.choices)}"
    return {"yes/no": "yes or no", "path": "a path"}.get(setting.kind, "a text")


def _range(setting: Setting) -> str:
    return f" from {setting.limits[0]:g} to {setting.limits[1]:g}" if setting.limits else ""


def parse_path(raw: str, user_home: Path) -> Path:
    """An absolute path; `~` is the person's home."""
    path = user_home / raw[2:] if raw.startswith("~/") else user_home if raw == "~" else Path(raw)
    return path.absolute()
