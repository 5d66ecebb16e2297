"""Plugin: what a module offers. Built-ins and strangers come through the same door."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # every plugin passes through here
    from sojourn.core.feats import Achievement, MetricRule
    from sojourn.core.settings import Settings
    from sojourn.ports.source import HistorySource
    from sojourn.ports.store import Store

StoreFactory: TypeAlias = "Callable[[Settings], Store]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """One small file ends in `plugin = Plugin(...)`.

    What is heavy is given by its dotted name (`package.module:attribute`) and loaded when used:
    `runtimes` and `platforms` by their own name, each `make(kit)`; `tools`, each `make(kit) -> list of Tool`;
    `context`, each `make(kit) -> ContextSource`; a click command; `router(kit) -> APIRouter`;
    `forget(kit, session) -> list of what went`.
    """

    name: str
    summary: str
    store: StoreFactory | None = None
    sources: Sequence[Callable[[], HistorySource]] = ()
    runtimes: Mapping[str, str] = field(default_factory=dict)
    platforms: Mapping[str, str] = field(default_factory=dict)
    tools: Sequence[str] = ()
    context: Sequence[str] = ()
    routes: Sequence[str] = ()
    page_routes: Sequence[str] = ()  # as routes, but at the root and for everybody: pages hold nothing private
    catch_all_routes: Sequence[str] = ()  # as routes, at /api/plugins/ itself, after all others
    manifest: Mapping[str, object] = field(default_factory=dict)  # its tab in the dashboard, as in a manifest.json
    commands: Sequence[str] = ()
    erasers: Sequence[str] = ()
    metrics: Sequence[MetricRule] = ()
    achievements: Sequence[Achievement] = ()
    settings: type | None = None  # a dataclass, filled from [plugins.<name>]
