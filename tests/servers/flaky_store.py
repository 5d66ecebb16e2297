"""A store whose connection breaks now and then, as when its database restarts; a pending write is stored or not."""

from collections.abc import Callable
from typing import Any

from sojourn.core.errors import StoreUnavailable


class Faint:
    """Passes everything on. After `faints`, one call of that name fails: before it had an effect, or after."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.fainted = 0
        self._when: tuple[str, Callable[..., bool], bool, int] | None = None

    def faints(
        self, call: str, *, after: bool, having: Callable[..., bool] = lambda *_, **__: True, times: int = 1
    ) -> None:
        self._when = call, having, after, times

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if self._when is None or name != self._when[0]:
            return found

        async def called(*args: Any, **given: Any) -> Any:
            if self._when is None or self._when[0] != name or not self._when[1](*args, **given):
                return await found(*args, **given)
            _, having, after, times = self._when
            self._when = (name, having, after, times - 1) if times > 1 else None
            self.fainted += 1
            if after:
                await found(*args, **given)
            raise StoreUnavailable("The line broke; it may be there or not.")

        return called
