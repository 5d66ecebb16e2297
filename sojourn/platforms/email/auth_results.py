"""Authentication-Results (RFC 8601): what a mail server found out about the sender of a mail.

    mx.example.org 1; spf=pass smtp.mailfrom=ann@example.net; dmarc=pass (p=reject) header.from=example.net

Comments may stand between any two words, quoted strings may hold anything. A header that does not follow the grammar
is invalid as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SPACE = re.compile(r"[ \t\r\n]*")
_KEYWORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_VALUE = re.compile(r"[^\s()\";\\]+")  # a token, a domain, an address; some servers leave base64 without quotes
_DIGITS = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodResult:
    """The result of one method, such as dmarc=pass, and its properties by name: header.from, smtp.mailfrom."""

    method: str
    result: str
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthResults:
    """One header: the server that wrote it, the version of the format, and its results."""

    server: str
    version: str = "1"
    results: tuple[MethodResult, ...] = ()


def parse_auth_results(text: str) -> AuthResults | None:
    """Parses the value of one header. None if it does not follow the grammar."""
    try:
        return _Reader(text).read_header()
    except _SyntaxError:
        return None


class _SyntaxError(Exception):
    """The text does not follow the grammar."""


class _Reader:
    """Reads the header from left to right, each character once."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def read_header(self) -> AuthResults:
        self._skip()
        server, version = self._read_value(), "1"
        self._skip()
        if not self._is_next(";"):
            version = self._read(_DIGITS)
            self._skip()
        results = tuple(self._read_results())
        if self._at != len(self._text) or not results:
            raise _SyntaxError
        return AuthResults(server=server, version=version, results=() if results == (_NONE,) else results)

    def _read_results(self) -> Iterator[MethodResult]:
        while self._take(";"):
            self._skip()
            if self._at == len(self._text):
                return  # many servers end the header with a semicolon
            yield self._read_result()

    def _read_result(self) -> MethodResult:
        method = self._read(_KEYWORD).lower()
        self._skip()
        if method == "none" and not self._is_next("=") and not self._is_next("/"):
            return _NONE
        if self._take("/"):
            self._skip()
            self._read(_DIGITS)
            self._skip()
        result, properties = self._read_assigned(), list[tuple[str, str]]()
        self._skip()
        while self._at < len(self._text) and not self._is_next(";"):
            properties.append(self._read_property())
            self._skip()
        return MethodResult(method=method, result=result.lower(), properties=tuple(properties))

    def _read_property(self) -> tuple[str, str]:
        """`reason=…`, `header.from=…`; some servers write words of their own without a point, like action=none."""
        name = self._read(_KEYWORD).lower()
        self._skip()
        if self._take("."):
            self._skip()
            name = f"{name}.{self._read(_KEYWORD).lower()}"
            self._skip()
        return name, self._read_assigned()

    def _read_assigned(self) -> str:
        if not self._take("="):
            raise _SyntaxError
        self._skip()
        return self._read_value()

    def _read_value(self) -> str:
        return self._read_quoted() if self._is_next('"') else self._read(_VALUE)

    def _read_quoted(self) -> str:
        found, at = list[str](), self._at + 1
        while at < len(self._text) and self._text[at] != '"':
            at += self._text[at] == "\\"
            found.append(self._text[at : at + 1])
            at += 1
        if at >= len(self._text):
            raise _SyntaxError
        self._at = at + 1
        return "".join(found)

    def _read(self, pattern: re.Pattern[str]) -> str:
        if (found := pattern.match(self._text, self._at)) is None:
            raise _SyntaxError
        self._at = found.end()
        return found[0]

    def _take(self, sign: str) -> bool:
        if not self._is_next(sign):
            return False
        self._at += 1
        return True

    def _is_next(self, sign: str) -> bool:
        return self._text.startswith(sign, self._at)

    def _skip(self) -> None:
        """Skips white space and comments, which may be nested."""
        depth = 0
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it may be empty
            sign = self._text[self._at : self._at + 1]
            if not sign and depth:
                raise _SyntaxError
            if not depth and sign != "(":
                return
            depth += (sign == "(") - (sign == ")")
            self._at += 2 if sign == "\\" else 1


_NONE = MethodResult(method="none", result="")
