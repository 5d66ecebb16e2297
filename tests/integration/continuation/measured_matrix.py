"""What of each program's real sessions arrives in each program: texts and calls, counted by what its importer reads."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from sojourn import config
from sojourn.app import App
from sojourn.continuation.targets import TARGETS
from sojourn.continuation.writer import ContinuationPlan, ContinuationWriter
from sojourn.core.messages import Message, is_internal, text_of, tool_calls_of
from sojourn.ports.store import Listing
from tests.contracts.histories import copy
from tests.integration.continuation.continued_session import make_session

SOURCES = {
    "sojourn": ("", ""),
    "claude": ("claude-code", "2.1.325"),
    "codex": ("codex", "0.166.0"),
    "opencode": ("opencode", "1.18.33"),
    "gemini": ("gemini", "0.61.0"),
    "qwen": ("qwen", "0.24.4"),
    "hermes": ("hermes", "0.19.0"),
}


@dataclass
class Cell:
    """How much there was, and how much arrived."""

    texts: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)

    def add(self, before: list[Message], after: list[Message]) -> None:
        for kind, counts in ((_list_texts, self.texts), (_list_calls, self.calls)):
            there, arrived = Counter(kind(before)), Counter(kind(after))
            counts["all"] += there.total()
            counts["arrived"] += (there & arrived).total()

    def describe(self) -> str:
        return f"{_describe(self.texts)}, {_describe(self.calls)}"


def _describe(counts: Counter[str]) -> str:
    return f"{counts['arrived']}/{counts['all']}"


def _list_texts(messages: list[Message]) -> list[str]:
    return [text_of(one).strip() for one in messages if one.role in ("user", "assistant") and text_of(one).strip()]


def _list_calls(messages: list[Message]) -> list[str]:
    """Each call as its result: names and ids differ from program to program, and some repeat ids."""
    called = {call.id for one in messages for call in tool_calls_of(one)}
    return [text_of(one).strip() for one in messages if one.role == "tool" and one.tool_call_id in called]


async def open_world(source: str, folder: Path) -> App:
    """A person with the sessions of one program, and a Hermes to go on in."""
    folder.mkdir()
    copy("hermes", "0.19.0", folder)
    app = App(config.load({"memory.embedder": "none"}, {"HOME": str(folder), "SOJOURN_HOME": str(folder / "ours")}))
    if source == "sojourn":
        await make_session(app, folder)
        return app
    home = folder / "theirs"
    copy(*SOURCES[source], home)
    for found in App(config.load({}, {"HOME": str(home)})).find_histories():
        await app.import_history(found)
    return app


async def measure(source: str, folder: Path) -> dict[str, Cell]:
    app = await open_world(source, folder)
    writer, cells = ContinuationWriter(app), {name: Cell() for name in TARGETS}
    for session in await app.store.find(Listing(limit=100, subagents=False)):
        rows = [row.item async for row in app.store.read(session.id, messages_only=True)]
        before = [one for one in rows if isinstance(one, Message) and one.active and not is_internal(one)]
        for name, cell in cells.items():
            if _list_texts(before):
                cell.add(before, await read_written(app, writer, await writer.plan(session, name, folder)))
    await app.close()
    return cells


async def read_written(app: App, writer: ContinuationWriter, plan: ContinuationPlan) -> list[Message]:
    """What the importer of a program makes of what was written for it."""
    if plan.native.database is None:
        return list(writer.read_staged(plan).messages)
    await writer.write(plan)
    (importer,) = (make() for plugin in app.plugins() for make in plugin.sources if plugin.name == plan.target.source)
    with importer.open(plan.native.home) as reader:
        return list(reader.read(plan.native.native_id).messages)
