"""What is said inside the gateway when something can be handled a moment later."""

from __future__ import annotations

from sojourn.core.errors import SojournError


class NotYet(Exception):
    """The session is on its way somewhere; a moment later this can be handled. `error` is why, if it never can."""

    def __init__(self, error: SojournError) -> None:
        super().__init__(str(error))
        self.error = error
