"""The error tree: every exception that a person may see. `docs/reference/exit-codes.md` lists them.

An error carries a stable `code`, a message (what happened, naming the value) and a `hint` (what to do next). The leaf
that meets a foreign exception translates it once, with `from`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from sojourn.core.places import Place

Refusal = Literal["too_long", "bad_format", "forbidden", "not_found", "rate_limited", "transient", "unknown"]


class SojournError(Exception):
    """Base of the tree: a message for a person and a hint with the next step."""

    code: ClassVar[str] = "failed"
    exit_code: ClassVar[int] = 1
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False  # whether the same request may succeed later

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class BadInput(SojournError):
    code, exit_code, status = "bad_input", 2, 400


class BadConfig(BadInput):
    code = "bad_config"


class BadTitle(BadInput):
    code = "bad_title"


class NotFound(SojournError):
    code, exit_code, status = "not_found", 3, 404


class Ambiguous(NotFound):
    code, status = "ambiguous", 409


class Conflict(SojournError):
    code, exit_code, status = "conflict", 4, 409


class TitleTaken(Conflict):
    code = "title_taken"


class SessionBusy(Conflict):
    """A turn is running; names the lease holder, its surface and since when."""

    code = "session_busy"

    def __init__(self, session: str, *, holder: str, surface: str, since: float) -> None:
        super().__init__(
            f'Session "{session}" is being answered by {holder} from {surface}.',
            hint="Wait until the running turn has ended, then try again.",
        )
        self.session, self.holder, self.surface, self.since = session, holder, surface, since


class NotDriving(Conflict):
    """Another surface owns the session."""

    code = "not_driving"

    def __init__(self, session: str, *, driver: str, asked: str) -> None:
        super().__init__(
            f'Session "{session}" is driven from {driver}, not from {asked}.',
            hint="Take the session over with /take, or resume it here.",
        )
        self.session, self.driver, self.asked = session, driver, asked


class CannotSteer(Conflict):
    """The runtime of the running turn takes no further input."""

    code = "cannot_steer"


class BeingHandedOver(Conflict):
    """A hand-off of the session to another surface is in progress."""

    code = "being_handed_over"


class LeaseLost(Conflict):
    code = "lease_lost"


class Forgotten(Conflict):
    code, status = "forgotten", 410


class StoreUnavailable(SojournError):
    code, exit_code, status, retryable = "store_unavailable", 5, 503, True


class StoreCorrupt(StoreUnavailable):
    code, retryable = "store_corrupt", False


class StoreLocked(StoreUnavailable):
    code = "store_locked"


class StoreNewer(StoreUnavailable):
    code, retryable = "store_newer", False


class StoreForeign(StoreUnavailable):
    code, retryable = "store_foreign", False


class StoreReadOnly(StoreUnavailable):
    code, retryable = "store_read_only", False


class StoreFull(StoreUnavailable):
    code, status, retryable = "store_full", 507, False


class SourceUnreadable(SojournError):
    code, exit_code, status = "source_unreadable", 6, 422


class MissingPackage(SojournError):
    code, exit_code, status = "missing_extra", 7, 501


class NotAllowed(SojournError):
    code, exit_code, status = "not_allowed", 8, 401


class RuntimeFailed(SojournError):
    code, exit_code, status = "runtime_failed", 9, 502


class RuntimeUnreachable(RuntimeFailed):
    code, status, retryable = "runtime_unreachable", 503, True


class RuntimeTimeout(RuntimeFailed):
    code, status, retryable = "runtime_timeout", 504, True


class KeyRefused(RuntimeFailed):
    code = "key_refused"


class RateLimited(RuntimeFailed):
    code, status, retryable = "rate_limited", 429, True


class ContextFull(RuntimeFailed):
    code, status = "context_full", 422


class SpendingLimit(RuntimeFailed):
    code, status = "spending_limit", 402


class Interrupted(RuntimeFailed):
    code, status, retryable = "interrupted", 503, True


class PlatformFailed(SojournError):
    code, exit_code, status = "platform_failed", 10, 502


class PlatformDown(PlatformFailed):
    code, status, retryable = "platform_down", 503, True


class SendRefused(PlatformFailed):
    """The network did not accept a message. `kind` says whether a retry, or plainer text, can help."""

    code = "send_refused"

    def __init__(self, message: str, *, kind: Refusal, retry_after: float | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind, self.retry_after = kind, retry_after


class ThreadsUnsupported(PlatformFailed):
    code, status = "threads_unsupported", 422


class NoThreadHere(ThreadsUnsupported):
    """There is no thread; `place` is what the given place turned out to be."""

    def __init__(self, message: str, *, place: Place, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.place = place


class ServerUnreachable(SojournError):
    code, exit_code, status, retryable = "server_unreachable", 11, 503, True


class PluginFailed(SojournError):
    """A plugin's routes are missing, because the plugin could not be loaded."""

    code, status = "plugin_failed", 503


class PluginDown(PluginFailed):
    """A plugin's process gave no proper answer: it crashed, raised, could not start, or wrote too much."""

    code, status, retryable = "plugin_down", 502, True


class PluginTimeout(PluginDown):
    """A plugin's process did not answer in time."""

    code, status = "plugin_timeout", 504
