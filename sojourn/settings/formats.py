"""Text settings that have a form: how each is parsed, and which errors say what was expected."""

from __future__ import annotations

from sojourn.core.errors import BadConfig

OTHERS = ""  # in an approval policy: all tools that it does not name
_POLICY_WORDS = ("ask", "always", "deny")


def parse_policy(raw: str) -> dict[str, str]:
    """Parses `ask, terminal=deny, write_file=always` to a word for each named tool and for OTHERS. BadConfig."""
    policy = {OTHERS: "ask"}
    for one in split_list(raw):
        name, separator, word = (part.strip() for part in one.rpartition("="))
        if word.lower() not in _POLICY_WORDS or (separator and not name):
            raise BadConfig(
                f"tools.approval has {one!r}, which is none of ask, always, deny.",
                hint='Example: "ask, terminal=deny, write_file=always".',
            )
        policy[name or OTHERS] = word.lower()
    return policy


def parse_pairs(raw: str, setting: str) -> frozenset[tuple[str, str]]:
    """Parses `platform:id, platform:id`. BadConfig names the setting."""
    found = set[tuple[str, str]]()
    for word in split_list(raw):
        platform, _, rest = word.partition(":")
        if not platform or not rest:
            raise BadConfig(f"{setting} has {word!r}.", hint="Write platform:id, for example telegram:42.")
        found.add((platform, rest))
    return frozenset(found)


def split_list(raw: object) -> list[str]:
    """Splits a list separated by commas; empty entries are left out."""
    return [word for one in str(raw).split(",") if (word := one.strip())]


def check_format(setting: str, raw: str) -> None:
    """BadConfig if a setting has a form and the text does not follow it."""
    if setting == "tools.approval":
        parse_policy(raw)
    elif setting in ("gateway.home", "gateway.owners", "gateway.guests"):
        parse_pairs(raw, setting)
