"""Result codes: refusals that a network puts into the body of an answer, whatever its HTTP status."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from sojourn.core.errors import KeyRefused, Refusal, SendRefused
from sojourn.platforms.expiring_token import TokenExpired
from sojourn.platforms.json_values import parse_body

_MAX_MESSAGE_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCodes:
    """The codes of one network. A body without the field is an error of an unknown kind, never a success."""

    label: str
    key: str  # the setting to correct when the credential is refused
    code_field: str
    message_field: str
    kinds: Mapping[Refusal, Collection[int]]  # what the codes mean
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
        kind = self._find_kind(code) or "unknown"
        hint = hint or self.hints.get(code, "")
        raise SendRefused(self._describe(code, document), kind=kind, retry_after=retry_after, hint=hint)

    def check_body(self, reply: httpx2.Response, *, retry_after: float | None = None, hint: str = "") -> dict[str, Any]:
        """`check`, for an API whose answers carry a code whatever their HTTP status, but not if a server fails."""
        if reply.status_code >= 500:
            raise SendRefused(f"{self.label} says: {reply.status_code}.", kind="transient")
        return self.check(parse_body(reply), retry_after=retry_after, hint=hint)

    def check_reply(self, reply: httpx2.Response, error: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Returns the body of an answer whose HTTP status reports success; a code says why it does not.

        error: the part of the body that has the code; the whole body if it is left out
        """
        page, status = parse_body(reply), reply.status_code
        if reply.is_success and isinstance(page, dict) and error is None:
            return page
        said = page if error is None else error
        code = read_code(said, self.code_field)
        if code is not None and self.knows(code):
            return self.check(said)
        if status == 401:
            raise KeyRefused(f"{self.label} refuses the credential.", hint=f"Correct {self.key}.")
        kind: Refusal = "transient" if status >= 500 else "rate_limited" if status == 429 else "unknown"
        raise SendRefused(self._describe(status if code is None else code, said), kind=kind)

    def knows(self, code: int) -> bool:
        """Whether a code says that something went wrong, and what."""
        return code in self.key_codes or self._find_kind(code) is not None

    def _find_kind(self, code: int) -> Refusal | None:
        return next((kind for kind, codes in self.kinds.items() if code in codes), None)

    def _describe(self, code: int, document: object) -> str:
        message = document.get(self.message_field) if isinstance(document, dict) else None
        words = " ".join(str(message or "no reason given").split())[:_MAX_MESSAGE_CHARS].rstrip(".")
        return f"{self.label} says: {code} {words}."


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
