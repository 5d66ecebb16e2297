"""LazyPattern: a regular expression compiled on first use. Compiling is slow, and most commands never need it."""

from __future__ import annotations

import re
from functools import cached_property

from sojourn.text.partial_match import PartialPattern


class LazyPattern:
    """A regular expression compiled on first use; `compiled` is the compiled pattern, `partial` its partial form."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern, self._flags = pattern, flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    @cached_property
    def partial(self) -> PartialPattern:
        return PartialPattern(self._pattern, self._flags)

    @property
    def has_name(self) -> bool:
        """Whether a name comes before the secret: only the group `secret` is replaced."""
        return "(?P<secret>" in self._pattern

    def starts_with(self, pattern: str) -> bool:
        return self._pattern.startswith(pattern)
