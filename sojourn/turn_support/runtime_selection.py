"""Runtime selection: the runtime a request names, the one its session has, or the first that is ready."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sojourn.core.sessions import Session
from sojourn.ports.service import TurnRequest
from sojourn.ports.store import Record, Transaction
from sojourn.turn_support.runtime_readiness import RuntimeReadiness

RUNTIME_KIND = "runtime"  # the runtime of a session


@dataclass(frozen=True, slots=True)
class Selection:
    """The runtime and model of a turn. `new`: the request named them, so the session keeps them from now on."""

    runtime: str
    model: str
    new: bool = False


async def select_runtime(
    runtimes: RuntimeReadiness, session: Session, known: Record | None, said: TurnRequest
) -> Selection:
    """Selects runtime and model of a request. A model belongs to its runtime; the model of an imported session
    belongs to the program it came from. `known`: its record of RUNTIME_KIND."""
    had = str(known.value["runtime"]) if known else ""
    runtime = said.runtime or had or await runtimes.default()
    runtimes.require_known(runtime)
    ours = session.model if (known or not session.details.get("source_id")) and runtime == (had or runtime) else ""
    new = bool(said.runtime and said.runtime != had) or bool(said.model and said.model != ours)
    return Selection(runtime, said.model or ours or "", new)


def save_selection(store: Transaction, session: Session, runtime: str, model: str) -> Session:
    """Saves runtime and model as those of the session."""
    store.put_record(Record(kind=RUNTIME_KIND, key=session.id, value={"runtime": runtime}, session=session.id))
    return session if (session.model or "") == model else store.change(session, replace(session, model=model or None))
