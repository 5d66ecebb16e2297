"""LazyPattern: a regular expression compiled on first use. Compiling is slow, and most commands never need it."""

from __future__ import annotations

import re
from functools import cached_property


class LazyPattern:
    """A regular expression compiled on first use; `compiled` is the compiled pattern."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern, self._flags = pattern, flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)
