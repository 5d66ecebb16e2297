"""A store that dies at a chosen moment, as one process sees it: from then on nothing it does has an effect."""

from collections.abc import Callable
from typing import Any

from sojourn.core.errors import StoreUnavailable


class Killed(StoreUnavailable):
    """It does not come back."""

    retryable = False


class Mortal:
    """Passes everything on until `dies`: (the call's name, what must hold for its arguments, before or after it)."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.dead = False
        self._when: tuple[str, Callable[..., bool], bool] | None = None

    def dies(self, call: str, *, having: Callable[..., bool] = lambda *_, **__: True, after: bool = True) -> None:
        self._when = (call, having, after)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found) or name in ("watch", "read", "watch_gateway", "controls", "watch_changes", "history"):
            return found

        async def called(*args: Any, **given: Any) -> Any:
            self._check()
            fatal = self._when is not None and self._when[0] == name and self._when[1](*args, **given)
            if fatal and self._when is not None and not self._when[2]:
                self.dead = True
            self._check()
            result = await found(*args, **given)
            if fatal:
                self.dead = True
            self._check()
            return result

        return called

    def _check(self) -> None:
        if self.dead:
            raise Killed("This process was killed.")
