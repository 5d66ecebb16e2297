"""Continues a session in another program: plans what is written there, writes it, and takes it back.

What is written is read by the program's importer first, so that every message of it is known by the id under which it
will come back. Then the store is told to whom the foreign session belongs, and only then it is written: a watcher that
sees it at once finds nothing new.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sojourn.continuation.conversation import PastConversation, adapt_calls, list_entries
from sojourn.continuation.hermes import delete_rows, insert_rows
from sojourn.continuation.native_session import NativeSession
from sojourn.continuation.targets import TARGETS, Target
from sojourn.core.errors import BadInput, Conflict, MissingPackage, NotFound, SourceUnreadable
from sojourn.core.messages import Json, Message, text_of
from sojourn.core.sessions import Session
from sojourn.ports.app import PluginContext
from sojourn.ports.importer import Importer, Transcript
from sojourn.ports.store import Record
from sojourn.text.redaction import mark_identifiers

KIND = "continuations"
_LOAD_SECONDS = 120.0
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuationPlan:
    """What will be written for a session, and how the program resumes it."""

    session: Session
    target: Target
    native: NativeSession
    entries: int
    calls: int

    @property
    def resume(self) -> list[str]:
        return [*self.target.resume, self.native.native_id]

    def to_json(self) -> dict[str, Any]:
        native = self.native
        return {
            "session": self.session.id,
            "program": self.target.name,
            "native_id": native.native_id,
            "folder": native.folder,
            "files": [{"path": str(path), "bytes": len(text.encode())} for path, text in native.files.items()],
            "rows": {"database": str(native.database), "count": len(native.rows)} if native.database else None,
            "load": list(native.load),
            "resume": self.resume,
            "messages": self.entries,
            "calls": self.calls,
        }


class ContinuationWriter:
    """Writes sessions of this store for other programs."""

    def __init__(self, app: PluginContext) -> None:
        self._app = app

    async def plan(self, session: Session, program: str, folder: Path | None = None) -> ContinuationPlan:
        """What continuing a session in a program would write. BadInput, NotFound."""
        target = find_target(program)
        rows = self._app.store.read(session.id, messages_only=True)
        entries = list_entries([row.item async for row in rows if isinstance(row.item, Message)])
        if not entries:
            raise BadInput("Nothing was said in this session yet.", hint="Say something first.")
        place = _choose_folder(session, folder)
        adapt_calls(entries, target.name, ((session.cwd or "").rstrip("/"), place))
        title = session.title or ""
        conversation = PastConversation(title=title, folder=place, model=session.model or "", entries=entries)
        native = target.build(conversation, self._app.settings)
        return ContinuationPlan(
            session=session, target=target, native=native, entries=len(entries), calls=len(conversation.calls)
        )

    async def write(self, plan: ContinuationPlan) -> None:
        """Writes it; what was written so far is removed if that fails."""
        if plan.native.database is not None:
            with insert_rows(plan.native) as ids:
                await self._link(plan, ids, ())
            return
        transcript = await asyncio.to_thread(self.read_staged, plan)
        seen = [str(one.native_id) for one in transcript.messages]
        record = await self._link(plan, seen, transcript.fields.get("usage", ()))
        created = list[Path]()
        try:
            for path, text in plan.native.files.items():
                _create_file(path, text)
                created.append(path)
            if plan.native.load:
                await asyncio.to_thread(_run_program, plan.native.load, plan.native.folder, plan.target.label)
        except BaseException:
            _remove_files(created)
            await self._app.store.put_record(replace(record, value=mark_identifiers({**record.value, "undone": True})))
            raise

    async def _link(self, plan: ContinuationPlan, seen: Sequence[str], usage: Sequence[Mapping[str, Any]]) -> Record:
        """Tells the store that the foreign session continues this one, and what of it is known."""
        native, source = plan.native, plan.target.source
        home = str(native.home.resolve())
        value: Json = {
            "program": plan.target.name,
            "home": home,
            "native_id": native.native_id,
            "files": {str(path): _hash(text.encode()) for path, text in native.files.items()},
            "seen": list(seen),
            "usage": [dict(row) for row in usage],
            "written_usage": [dict(row) for row in usage],
        }
        key = f"{source}/{native.native_id}"
        session = plan.session
        value = mark_identifiers(value)
        record = Record(kind=KIND, key=key, value=value, principal=session.principal, session=session.id)
        record = await self._app.store.put_record(record)
        link = Transcript(native_id=native.native_id, fields={"continues": session.id}, messages=())
        await self._app.store.ingest(source, home, [("", link)], principal=session.principal)
        return record

    def read_staged(self, plan: ContinuationPlan) -> Transcript:
        """What the program's importer makes of the files, written to a place of our own."""
        native = plan.native
        importer = self._find_importer(plan.target.reader or plan.target.source)
        with TemporaryDirectory() as folder:
            home = Path(folder) / native.home.name
            for path, text in native.files.items():
                staged = home / (path.name if native.load else path.relative_to(native.home))
                _create_file(staged, text)
            with importer.open(home) as reader:
                return reader.read(native.native_id)

    def _find_importer(self, name: str) -> Importer:
        made = (make() for plugin in self._app.plugins() for make in plugin.sources)
        found = next((one for one in made if one.name == name), None)
        if found is None:
            raise NotFound(f"The importer {name} is switched off.", hint="`sojourn plugins` lists the plugins.")
        return found

    async def list_written(self, session: Session) -> list[Record]:
        """What was written for a session and not taken back, oldest first."""
        found = await self._app.store.list_records(KIND, session=session.id)
        return sorted((one for one in found if not one.value.get("undone")), key=lambda one: one.created_at)

    async def undo(self, session: Session, program: str = "") -> Record:
        """Removes what was last written. NotFound; Conflict if the program has gone on with it."""
        written = [one for one in await self.list_written(session) if program in ("", one.value["program"])]
        if not written:
            raise NotFound("Nothing was written for this session.", hint="`sojourn continue SESSION --in PROGRAM`")
        record = written[-1]
        value, target = record.value, find_target(written[-1].value["program"])
        await asyncio.to_thread(self._require_unchanged, target, value)
        if target.unload:
            await asyncio.to_thread(_run_program, [*target.unload, value["native_id"]], str(Path.home()), target.label)
        if not value["files"]:
            delete_rows(Path(value["home"]) / "state.db", value["native_id"])
        _remove_files(map(Path, value["files"]))
        return await self._app.store.put_record(replace(record, value=mark_identifiers({**value, "undone": True})))

    def _require_unchanged(self, target: Target, value: Mapping[str, Any]) -> None:
        added = self._list_added(target, value)
        if added:
            said = [one for one in added if one.role != "system"] or added
            first = text_of(said[0])[:_SHOWN_CHARACTERS].strip()
            number = f"{len(said)} messages were" if len(said) > 1 else "1 message was"
            raise Conflict(
                f"{target.label} has gone on with it: {number} added, the first is “{first}”. Nothing was removed.",
                hint="`sojourn import` brings them into the session here.",
            )
        changed = [path for path, mark in value["files"].items() if _hash_file(Path(path)) not in (mark, "")]
        if changed:
            raise Conflict(f"{changed[0]} was changed. Nothing was removed.", hint="Delete it by hand.")

    def _list_added(self, target: Target, value: Mapping[str, Any]) -> list[Message]:
        """The messages that the program has added; none if the session is gone there. SourceUnreadable."""
        home, native = Path(value["home"]), value["native_id"]
        if not home.exists():
            return []
        with self._find_importer(target.source).open(home) as reader:
            if native not in {one.native_id for one in reader.sessions()}:
                return []
            messages = reader.read(native).messages
        seen = set(value["seen"])
        return [one for one in messages if one.native_id not in seen]


def find_target(program: str) -> Target:
    target = TARGETS.get(program)
    if target is None:
        raise BadInput(f'"{program}" is no program to continue in.', hint=f"There are: {', '.join(TARGETS)}.")
    return target


def _choose_folder(session: Session, folder: Path | None) -> str:
    place = folder or (Path(session.cwd) if session.cwd else None)
    if place is None:
        raise BadInput("This session has no folder.", hint="Say in which one the program shall run (`--folder PATH`).")
    if not place.is_dir():
        raise BadInput(f"There is no folder {place} on this machine.", hint="Name another folder (`--folder PATH`).")
    return str(place.resolve())


def _create_file(path: Path, text: str) -> None:
    """Writes a file that is not there yet, for its owner alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(text.encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise SourceUnreadable(
            f"{path} cannot be written: {error.strerror or error}.", hint="Check its folder."
        ) from error


def _remove_files(paths: Iterable[Path]) -> None:
    """Removes files, and their folders if they are empty then."""
    for path in paths:
        path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()


def _run_program(command: Sequence[str], folder: str, label: str) -> None:
    """Runs a command of the program. MissingPackage, SourceUnreadable."""
    words = " ".join(command)
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LOAD_SECONDS, check=False
        )
    except FileNotFoundError as error:
        raise MissingPackage(f"{label} is not installed here.", hint=f"It has to run `{words}`.") from error
    except subprocess.TimeoutExpired as error:
        raise SourceUnreadable(f"`{words}` did not end.", hint=f"Is {label} running?") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise SourceUnreadable(f"`{words}` failed: {said}", hint=f"Does {label} start?")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _hash_file(path: Path) -> str:
    """The hash of a file; empty if it is gone."""
    try:
        return _hash(path.read_bytes())
    except OSError:
        return ""
