"""Plugin: declares the parts that a module offers, built-in and third-party alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:  # every plugin imports this module
    from sojourn.badge_rules import Achievement, MetricRule
    from sojourn.core.settings import Settings
    from sojourn.ports.importer import Importer
    from sojourn.ports.store import Store
    from sojourn.ports.tool import Tool

Part: TypeAlias = "str | Callable[..., Any]"


class NamedPart(Protocol):
    """A class with a name, such as a runtime, that is called with the application."""

    name: str

    def __call__(self, app: Any) -> Any: ...


Parts: TypeAlias = "Mapping[str, Part] | Sequence[NamedPart]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A module declares what it offers in `plugin = Plugin(...)`.

    A part is an object, or a dotted name `package.module:attribute`, imported on use; called with `sojourn.ports.app`:

    runtimes, platforms: by their names, each `make(app)`; or a list of classes that have a `name`.
    tools: each a Tool, or `make(app) -> list[Tool]`. context: each `make(app) -> ContextSource`.
    routes: each `router(app) -> APIRouter`, mounted at `/api/plugins/<name>`.
    page_routes: the same, mounted at the root, without a token. Pages hold nothing private.
    catch_all_routes: the same, mounted at `/api/plugins` after all other routes.
    chat_commands: by name, each `run(app, session, arguments, by) -> CommandOutput`.
    commands: click commands. erasers: each `forget(app, session) -> list[str]`, the files it erased something from.
    settings: a dataclass that is filled from `[plugins.<name>]`; `app.configured(name)` returns it.
    manifest: the plugin's tab in the dashboard, with the keys of a `manifest.json`.
    """

    name: str
    summary: str
    store: Callable[[Settings], Store] | None = None
    sources: Sequence[Callable[[], Importer]] = ()
    runtimes: Parts = field(default_factory=dict)
    platforms: Parts = field(default_factory=dict)
    sign_ins: Mapping[str, Part] = field(default_factory=dict)  # by platform; see SignInStep
    tools: Sequence[Part | Tool] = ()
    context: Sequence[Part] = ()
    routes: Sequence[Part] = ()
    page_routes: Sequence[Part] = ()
    catch_all_routes: Sequence[Part] = ()
    manifest: Mapping[str, object] = field(default_factory=dict)
    commands: Sequence[Part] = ()
    chat_commands: Mapping[str, Part] = field(default_factory=dict)
    erasers: Sequence[Part] = ()
    metrics: Sequence[MetricRule] = ()
    achievements: Sequence[Achievement] = ()
    settings: type | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """How a person is asked for a setting, as in `token: Annotated[Secret, Prompt("Bot token", "From …")]`."""

    label: str
    where: str  # a sentence on where to find the answer


class SignInStep(NamedTuple):
    """What a person sees while signing in to a network: `sign_in(values) -> AsyncGenerator[SignInStep, str]`."""

    text: str
    scan: str = ""  # to be shown as a QR code
    has_question: bool = False  # the text asks for something, which is sent into the generator
    is_secret: bool = False  # what is typed is not shown
    settings: Mapping[str, str] | None = None  # in the last step: what to keep


def parts_by_name(parts: Parts) -> dict[str, Part]:
    """Runtimes or platforms by their names, in the order of the plugin."""
    return dict(parts) if isinstance(parts, Mapping) else {one.name: one for one in parts}
