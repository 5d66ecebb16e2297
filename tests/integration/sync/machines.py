"""Machines that share a folder now and then: each has a store, a replica of the folder and a copy of the key."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.core.messages import Message, text_of, user
from sojourn.core.sessions import SessionId
from sojourn.ports.store import Listing
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.sync.bundles import GROUP_FILE, open_group
from sojourn.sync.folder_sync import FolderSync, SyncReport
from sojourn.sync.session_path import root_of
from sojourn.testing.app import FakeApp, make_settings


class Machine:
    """One home, empty or with the store `state`. `folder` is its replica of the shared folder."""

    def __init__(self, root: Path, name: str, *, state: Path | None = None) -> None:
        self.home, self.folder = root / name / ".sojourn", root / name / "shared"
        self.home.mkdir(parents=True)
        self.folder.mkdir()
        if state:
            shutil.copyfile(state, self.home / "state.db")
        self.store: Any = SqliteStore(self.home / "state.db")
        self.app: Any = FakeApp(store=self.store, settings=make_settings(self.home))

    async def sync(self, folder: Path | None = None, **given: Any) -> SyncReport:
        shared = folder or self.folder
        key, _ = open_group(shared, self.home)
        return await FolderSync(self.app, key, shared, {"~": str(self.home.parent)}).run(**given)

    def join(self, other: Machine) -> None:
        """Gets the key, and the file that names the group."""
        shutil.copy2(other.folder / GROUP_FILE, self.folder)
        for key in other.home.glob("sync-*.key"):
            shutil.copy2(key, self.home)

    def copy_to(self, other: Machine, chance: random.Random | None = None) -> None:
        """Copies bundles that the other does not have; with `chance` some of them, in any order."""
        found = list(self.folder.glob("*/*.bundle"))
        if chance:
            chance.shuffle(found)
            found = found[: chance.randint(0, len(found))]
        for path in found:
            target = other.folder / path.relative_to(self.folder)
            target.parent.mkdir(exist_ok=True)
            if not target.exists():
                shutil.copyfile(path, target)

    async def say(self, session: SessionId, *texts: str) -> None:
        found = await self.store.get(session)
        lease = await self.store.lease(session, holder="test", surface=found.driver or "cli")
        await self.store.append(lease, [user(text) for text in texts])
        await self.store.renew(lease, 0)

    async def undo(self, session: SessionId) -> None:
        found = await self.store.get(session)
        rows = [row async for row in self.store.read(session, messages_only=True)]
        if live := [row.seq for row in rows if isinstance(row.item, Message) and row.item.active]:
            lease = await self.store.lease(session, holder="test", surface=found.driver or "cli")
            await self.store.set_flags(lease, live[-1:], active=False, compacted=False)
            await self.store.renew(lease, 0)

    async def ids(self) -> list[SessionId]:
        found = await self.store.find(Listing(archived=None, limit=100_000))
        found += await self.store.find(Listing(archived=None, trashed=True, limit=100_000))
        return sorted(one.id for one in found)

    async def texts(self, session: SessionId) -> list[str]:
        rows = [row async for row in self.store.read(session, messages_only=True)]
        return [text_of(row.item) for row in rows if isinstance(row.item, Message) and row.item.active]

    async def state(self) -> dict[str, Any]:
        """All that has to be the same everywhere."""
        folder = FolderSync(self.app, open_group(self.folder, self.home)[0], self.folder, {"~": str(self.home.parent)})
        await folder._open()
        found: dict[str, Any] = {}
        for session in await self.ids():
            path = await folder._merge.read_path(session)
            values = (await folder._values.load(await self.store.get(session))).values
            found[session] = ([(one.identity, one.flags, text_of(one.message)) for one in path], values)
        return found


@dataclass
class World:
    """Three machines, what was written on any of them, and what was forgotten."""

    machines: list[Machine]
    chance: random.Random
    written: dict[str, str] = field(default_factory=dict)  # text → the root of its session
    forgotten: set[str] = field(default_factory=set)

    async def act(self, number: int) -> None:
        """One operation on one machine, or a copy between two."""
        machine, dice = self.chance.choice(self.machines), self.chance.random()
        ids = await machine.ids() if dice > 0.2 else []
        session = self.chance.choice(ids) if ids else None
        if session is None:
            made = await machine.store.create(cwd=str(machine.home.parent / "work"))
            await self._say(machine, made.id, number)
        elif dice < 0.75:
            await self._say(machine, session, number)
        elif dice < 0.79:
            found = await machine.store.get(session)
            await machine.store.set_title(session, f"Title {number}", instead_of=found.title)
        elif dice < 0.81:
            await machine.undo(session)
        elif dice < 0.82:
            await machine.store.forget(session)
            self.forgotten.add(session)
        elif dice < 0.92:
            await machine.sync()
        else:
            machine.copy_to(self.chance.choice(self.machines), self.chance)

    async def _say(self, machine: Machine, session: SessionId, number: int) -> None:
        texts = [f"{number}.{part} on {machine.home.parent.name}" for part in range(self.chance.randint(1, 3))]
        await machine.say(session, *texts)
        self.written |= dict.fromkeys(texts, session)

    async def heal(self) -> None:
        """Everybody syncs and copies everything until nothing new is written."""
        before = -1
        while before != (before := len(list(self.machines[0].folder.parent.parent.glob("*/shared/*/*.bundle")))):
            for machine in self.machines:
                report = await machine.sync()
                assert not report.refused
                for other in self.machines:
                    machine.copy_to(other)

    async def check(self) -> None:
        """All are equal, nothing is lost, nothing is there twice, and what was forgotten is nowhere."""
        states = [await machine.state() for machine in self.machines]
        for other in states[1:]:
            assert other.keys() == states[0].keys()
            for session, found in states[0].items():
                assert other[session] == found, session
        kept: set[str] = set()
        for session, (path, _) in states[0].items():
            assert session not in self.forgotten
            assert root_of(session) not in self.forgotten
            identities = [one[0] for one in path]
            assert len(set(identities)) == len(identities), session
            kept |= {text for _, _, text in path}
        families = {root_of(session) for session in self.forgotten}  # words may be in a branch that was forgotten
        lost = [text for text, session in self.written.items() if text not in kept and root_of(session) not in families]
        assert lost == []


def make_world(root: Path, seed: int) -> World:
    machines = [Machine(root, name) for name in ("anna", "bert", "cleo")]
    return World(machines, random.Random(seed))
