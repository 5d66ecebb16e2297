"""Sessions, turn leases, log entries and their ids."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NewType

from sojourn.core.events import Yielded, empty_mapping
from sojourn.core.messages import Json

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
Principal = NewType("Principal", str)

OWNER = Principal("owner")  # the person this installation belongs to


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation, with one public id for life. Its log is ordered by `seq`, never by the clock."""

    id: SessionId
    principal: Principal = OWNER
    source: str = "cli"  # the surface it began on
    title: str | None = None
    tags: tuple[str, ...] = ()
    pinned: bool = False
    archived: bool = False
    parent_session_id: SessionId | None = None
    model: str | None = None
    cwd: str | None = None
    started_at: float = 0.0
    last_active: float = 0.0
    ended_at: float | None = None
    end_reason: str | None = None
    message_count: int = 0
    tool_call_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated_cost_usd: float | None = None
    last_seq: int = 0
    revision: int = 1
    driver: str | None = None  # the surface that owns it
    driver_fence: int = 0
    handoff_state: str | None = None
    handoff_platform: str | None = None
    handoff_error: str | None = None
    preview: str = ""  # first words of the first user message
    program: str = "sojourn"  # whose history it was imported from
    machine: str | None = None  # the label of the one it was imported on
    trashed_at: float | None = None
    branched_from: str | None = None  # the message it continues, `<session>:<seq>`
    copied: int = 0  # messages up to this number belong to the session it was branched from
    details: Mapping[str, Json] = field(default_factory=empty_mapping)  # by DETAIL_FIELDS, where requested


# Keys of `Session.details`, with the names and meanings they have in Hermes.
DETAIL_FIELDS = tuple(
    """
    user_id session_key chat_id chat_type thread_id display_name origin_json expiry_finalized model_config
    system_prompt cache_read_tokens cache_write_tokens reasoning_tokens git_branch git_repo_root billing_provider
    billing_base_url billing_mode actual_cost_usd cost_status cost_source pricing_version api_call_count
    compression_failure_cooldown_until compression_failure_error compression_fallback_streak profile_name
    rewind_count source_home source_id extra
    """.split()  # noqa: SIM905  a list literal would take a line per name
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Turn lease: the right to write one turn, held for seconds by the process that runs it, and renewed."""

    session: SessionId
    holder: str  # readable name of the process: "chat on laptop (pid 4711)"
    surface: str  # cli, web, telegram …
    fence: int
    driver_fence: int
    since: float
    until: float
    last_seq: int = -1  # of the session when it was given, and its revision
    revision: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A log entry: an event or message under its number. `<session>:<seq>` is its public id."""

    session: SessionId
    seq: int
    at: float
    item: Yielded
    turn: TurnId | None = None

    @property
    def public_id(self) -> str:
        return f"{self.session}:{self.seq}"


@dataclass(frozen=True, slots=True)
class Change:
    """An entry of the change feed. `n` only grows; a change may be delivered twice."""

    n: int
    session: SessionId
    kind: Literal["created", "log", "changed", "control", "handoff", "deleted"]
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A command to a running turn from another process: stop, answer, steer, take."""

    id: int
    session: SessionId
    kind: str
    payload: Json = None
    by: str = ""
    at: float = 0.0


def new_session_id(now: float | None = None) -> SessionId:
    """Creates an id: `YYYYMMDD_HHMMSS_` and 8 hex digits; safe as a file name."""
    stamp = time.strftime("%Y%m%d_%H%M%S", time.localtime(now))
    return SessionId(f"{stamp}_{os.urandom(4).hex()}")


def new_turn_id() -> TurnId:
    return TurnId(f"t_{os.urandom(8).hex()}")
