"""Result codes: refusals that a network puts into the body of an answer, whatever its HTTP status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sojourn.core.errors import KeyRefused, Refusal, SendRefused
from sojourn.platforms.expiring_token import TokenExpired

_MAX_MESSAGE_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCodes:
    """The codes of one network. A body without the field is an error of an unknown kind, never a success."""

    label: str
    key: str  # the setting to correct when the credential is refused
    code_field: str
    message_field: str
    kinds: Mapping[int, Refusal]
    hints: Mapping[int, str] = field(default_factory=dict)
    key_codes: frozenset[int] = frozenset()
    token_codes: frozenset[int] = frozenset()
    good_codes: frozenset[int] = frozenset({0})

    def check(self, document: object, *, retry_after: float | None = None, hint: str = "") -> dict[str, Any]:
        """Returns a body that reports success. SendRefused, KeyRefused, TokenExpired.

        retry_after: the seconds that the answer asks to wait
        hint: what the answer itself suggests
        """
        code = read_code(document, self.code_field)
        if not isinstance(document, dict) or code is None:
            raise SendRefused(f"{self.label} answers without a result.", kind="unknown")
        if code in self.good_codes:
            return document
        if code in self.token_codes:
            raise TokenExpired
        if code in self.key_codes:
            raise KeyRefused(f"{self.label} refuses the credential ({code}).", hint=f"Correct {self.key}.")
        message = " ".join(str(document.get(self.message_field) or "no reason given").split())
        text = f"{self.label} says: {code} {message[:_MAX_MESSAGE_CHARS].rstrip('.')}."
        kind = self.kinds.get(code, "unknown")
        raise SendRefused(text, kind=kind, retry_after=retry_after, hint=hint or self.hints.get(code, ""))


def read_refused_code(error: SendRefused) -> int:
    """The code of a refusal, which its text names; 0 if it names none."""
    number = str(error).partition(" says: ")[2].partition(" ")[0]
    return int(number) if number.isdecimal() else 0


def read_code(document: object, field_name: str) -> int | None:
    """The code of a body: a number, or digits in a string."""
    value = document.get(field_name) if isinstance(document, dict) else None
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and len(value) < 16:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
