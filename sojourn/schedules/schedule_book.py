"""Schedule book: schedules and their runs as records of the store. A run is claimed by creating its record, so each
time is run once, however many servers look."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sojourn.core.errors import BadInput, Conflict, NotFound
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, SessionId
from sojourn.ports.store import Record, RecordStore
from sojourn.processes.identity import is_dead, this_process
from sojourn.schedules.recurrence import Recurrence
from sojourn.text.codec import decode_value, encode_value
from sojourn.text.redaction import Identifier

KIND, RUN_KIND = "schedule", "schedule_run"
MAKE_UP_SECONDS = 24 * 3600.0  # a missed time that is older is not made up for
STALE_SECONDS = 600.0  # a claim of a process that cannot be looked at, without a session, is given up after this
_MAX_SCHEDULES = 1000  # records
RunState = Literal["claimed", "running", "completed", "failed", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A prompt, when it is said, and where the answer goes."""

    id: str
    name: str
    when: str  # as the person said it
    recurrence: Recurrence
    text: str
    deliver: str = ""  # platform, or platform:chat
    runtime: str = ""
    model: str = ""
    cwd: str = ""
    budget_usd: float = 0.0  # of a month; 0: none
    paused: str = ""  # why it does not run
    last_at: float = 0.0  # the newest time that was run, missed, or passed before it was made
    missed: int = 0  # times that came while no server ran, and were not made up for
    created_at: float = 0.0
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRun:
    """One time of a schedule, and what became of it."""

    schedule: str
    at: float
    state: RunState = "claimed"
    session: SessionId | None = None
    cost_usd: float = 0.0
    error: str = ""
    claimed_at: float = 0.0
    process: Mapping[str, Json] = field(default_factory=dict)
    revision: int = 0

    @property
    def key(self) -> str:
        return f"{self.schedule}/{int(self.at):012d}"


class ScheduleBook:
    """Reads and writes schedules and runs."""

    def __init__(self, store: RecordStore, now: Callable[[], float] = time.time) -> None:
        self._store, self._now = store, now

    async def add(self, schedule: Schedule) -> Schedule:
        made = replace(schedule, id=secrets.token_hex(4), created_at=self._now(), last_at=self._now())
        return await self.save(made, expect=0)

    async def save(self, schedule: Schedule, *, expect: int | None = None) -> Schedule:
        """Stores a schedule. Conflict unless its revision is `expect`."""
        value = encode_value(replace(schedule, revision=0)) | {"deliver": Identifier(schedule.deliver)}
        kept = await self._store.put_record(Record(kind=KIND, key=schedule.id, value=value), expect=expect)
        return replace(schedule, revision=kept.revision)

    async def list_schedules(self) -> list[Schedule]:
        found = await self._store.list_records(KIND, principal=OWNER, limit=_MAX_SCHEDULES)
        return sorted((_decode(Schedule, one) for one in found), key=lambda one: one.created_at)

    async def find(self, words: str) -> Schedule:
        """The schedule with this id, beginning of an id, or name. NotFound, BadInput if several fit."""
        known = await self.list_schedules()
        exact = [one for one in known if words in (one.id, one.name)]
        found = exact or [one for one in known if one.id.startswith(words) or words.lower() in one.name.lower()]
        if not found:
            raise NotFound(f'There is no schedule "{words}".', hint="`sojourn schedule list` shows them.")
        if len(found) > 1:
            names = ", ".join(f"{one.id} ({one.name})" for one in found[:3])
            raise BadInput(f'"{words}" fits several schedules: {names}.', hint="Give the id.")
        return found[0]

    async def change(self, schedule: Schedule, edit: Callable[[Schedule], Schedule]) -> Schedule:
        """Applies `edit` to the schedule as it is now; repeats while others change it at the same moment."""
        while True:
            record = await self._store.get_record(KIND, schedule.id)
            if record is None:
                raise NotFound(f'There is no schedule "{schedule.id}".', hint="`sojourn schedule list` shows them.")
            now: Schedule = _decode(Schedule, record)
            new = edit(now)
            if new == now:
                return now
            try:
                return await self.save(new, expect=now.revision)
            except Conflict:
                continue

    async def remove(self, schedule: Schedule) -> None:
        """Removes a schedule and the list of its runs. Their sessions stay."""
        await self._store.delete_record(KIND, schedule.id)
        for run in await self.list_runs(schedule, limit=1000):
            await self._store.delete_record(RUN_KIND, run.key)

    async def list_runs(self, schedule: Schedule, *, limit: int = 100) -> list[ScheduleRun]:
        """The runs of a schedule, oldest first."""
        found = await self._store.list_records(RUN_KIND, prefix=f"{schedule.id}/", limit=limit)
        return [_decode(ScheduleRun, one) for one in found]

    async def claim_due(self, schedule: Schedule) -> ScheduleRun | None:
        """Claims the newest time that is due and that nobody has; older ones are missed. None if there is none."""
        now = self._now()
        if schedule.last_at > now + MAKE_UP_SECONDS:  # the clock was wrong then; each time is still claimed once
            schedule = await self.change(schedule, lambda one: replace(one, last_at=min(one.last_at, now)))
        due = schedule.recurrence.times_until(schedule.last_at, now)
        if not due:
            return None
        newest = due[-1]
        claimed = None
        if newest > now - MAKE_UP_SECONDS:
            claimed = await self._create_run(ScheduleRun(schedule=schedule.id, at=newest, claimed_at=now))
        skipped = len(due) - (newest > now - MAKE_UP_SECONDS)

        def note(one: Schedule) -> Schedule:
            if one.last_at >= newest:
                return one
            return replace(one, last_at=newest, missed=one.missed + (skipped if one.last_at == schedule.last_at else 0))

        await self.change(schedule, note)
        return claimed

    async def claim_abandoned(self, schedule: Schedule) -> list[ScheduleRun]:
        """Claims the runs whose process has ended before they had."""
        taken = []
        for run in await self.list_runs(schedule, limit=1000):
            if run.state in ("claimed", "running") and self._is_abandoned(run):
                try:
                    taken.append(await self.save_run(replace(run, process=this_process(), claimed_at=self._now())))
                except Conflict:
                    continue  # another server took it
        return taken

    def _is_abandoned(self, run: ScheduleRun) -> bool:
        return is_dead(run.process) or (run.session is None and self._now() - run.claimed_at > STALE_SECONDS)

    async def _create_run(self, run: ScheduleRun) -> ScheduleRun | None:
        try:
            return await self.save_run(replace(run, process=this_process()))
        except Conflict:
            return None  # another server has it

    async def save_run(self, run: ScheduleRun) -> ScheduleRun:
        """Stores a run. Conflict unless its revision is the one it was read with; 0 creates it."""
        value = encode_value(replace(run, revision=0))
        kept = await self._store.put_record(Record(kind=RUN_KIND, key=run.key, value=value), expect=run.revision)
        return replace(run, revision=kept.revision)


def _decode(kind: type[Any], record: Record) -> Any:
    return replace(decode_value(kind, record.value), revision=record.revision)
