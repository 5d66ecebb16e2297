"""The application of a server, and a workspace whose person answers as the test says."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn import config
from sojourn.app import App
from sojourn.core.provenance import Provenance
from sojourn.core.sessions import OWNER, Principal, SessionId, TurnId, new_turn_id
from sojourn.core.settings import Settings
from sojourn.ports.runtime import Runtime
from sojourn.ports.tool import Question, Reply, Tool, ToolResult


@dataclass
class Room:
    """A workspace. `answers` are given in turn; the last one again and again."""

    root: Path
    session: SessionId
    turn: TurnId = field(default_factory=new_turn_id)
    principal: Principal = OWNER
    seconds: float = 10.0
    most: int = 30_000
    provenance: Provenance = field(default_factory=Provenance)
    answers: list[str] = field(default_factory=lambda: ["once"])
    asked: list[Question] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    async def ask(self, question: Question) -> Reply:
        self.asked.append(question)
        return Reply(choice=self.answers.pop(0) if len(self.answers) > 1 else self.answers[0], by="me")

    def tell(self, line: str) -> None:
        self.lines.append(line)


class _OneRuntimeApp(App):
    """An application with the runtime of a test instead of those of the plugins."""

    def __init__(self, settings: Settings, runtime: Runtime) -> None:
        super().__init__(settings)
        self._runtime = runtime

    def runtime_names(self) -> tuple[str, ...]:
        return (self._runtime.name,)

    def runtime(self, name: str) -> Runtime:
        return self._runtime


@asynccontextmanager
async def open_kit(runtime: Runtime | None = None, **settings: Any) -> AsyncIterator[App]:
    """An application as a server has it, or with `runtime` as its only runtime; its store goes with it."""
    made = _OneRuntimeApp(config.load(settings), runtime) if runtime else App(config.load(settings))
    try:
        yield made
    finally:
        await made.close()


async def room_in(kit: App, folder: Path) -> Room:
    """A workspace in a new folder, of a new session."""
    root = folder / "work"
    root.mkdir(exist_ok=True)
    session = await kit.store.create()
    return Room(root=root, session=session.id)


def tool_of(kit: App, name: str) -> Tool:
    return next(tool for tool in kit.tools() if tool.name == name)


async def call(kit: App, at: Room, name: str, /, **given: Any) -> ToolResult:
    """Calls a tool by name, as a runtime does."""
    return await tool_of(kit, name).run(at, given)
