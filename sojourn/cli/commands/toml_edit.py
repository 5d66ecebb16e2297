"""Sets one key of a TOML file and keeps its other lines, comments and order."""

from __future__ import annotations

import tomlkit
from tomlkit.exceptions import TOMLKitError

from sojourn.core.errors import BadConfig
from sojourn.settings_table import Setting

_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def set_key(text: str, setting: Setting, value: str) -> str:
    """Sets a key in TOML text and keeps its comments. BadConfig if the text is not TOML or the key is a table."""
    *tables, key = setting.name.split(".")
    try:
        document = tomlkit.parse(text)
        table: tomlkit.TOMLDocument | tomlkit.items.Table = document
        for name in tables:
            if name not in table:
                table[name] = tomlkit.table()
            table = table[name]
        old = table.get(key)
        table[key] = new = tomlkit.item(_parse_value(setting, value))
        if isinstance(old, tomlkit.items.Item):
            new.trivia.comment_ws, new.trivia.comment = old.trivia.comment_ws, old.trivia.comment
        changed = tomlkit.dumps(document)
    except (TOMLKitError, TypeError, AttributeError, ValueError) as error:
        raise BadConfig(
            f"config.toml cannot be changed without breaking it: {error}.",
            hint=f"Set {setting.name} there by hand: `sojourn config path`.",
        ) from error
    return changed if changed.endswith("\n") else changed + "\n"


def _parse_value(setting: Setting, value: str) -> str | int | bool:
    word = value.strip().lower()
    if setting.kind == "yes/no" and word in _YES + _NO:
        return word in _YES
    return int(word) if setting.kind == "number" and word.isdecimal() else value
