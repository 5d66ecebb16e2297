"""Plugin: what a module offers. Built-ins and strangers come through the same door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sojourn.core.settings import Settings
from sojourn.ports.source import HistorySource
from sojourn.ports.whole import WholeStore

StoreFactory = Callable[[Settings], WholeStore]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """One small file ends in `plugin = Plugin(...)`.

    `routes`, `commands` and `forgets` are dotted names (`package.module:attribute`), loaded when
    used: a click command; `router(kit) -> APIRouter`; `forget(kit, session) -> list of what went`.
    """

    name: str
    summary: str
    store: StoreFactory | None = None
    sources: Sequence[Callable[[], HistorySource]] = ()
    routes: Sequence[str] = ()
    commands: Sequence[str] = ()
    forgets: Sequence[str] = ()
    settings: type | None = None  # a dataclass, filled from [plugins.<name>]
