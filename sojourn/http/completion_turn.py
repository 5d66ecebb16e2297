"""The turn behind a `/v1` call: which runtime a model id names, and the answer as text, failure and end."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from sojourn.core.errors import NotFound, RuntimeFailed, SojournError
from sojourn.core.events import Chunk, Done, Failed
from sojourn.core.sessions import SessionId
from sojourn.http.chat import filter_turn
from sojourn.http.dependencies import ActivityDep, CallerDep, ServiceDep, StoreDep
from sojourn.http.json_safe import replace_surrogates
from sojourn.http.prompt_messages import CallPrompt
from sojourn.http.stateless_sessions import StartedCompletion, StatelessSessions
from sojourn.ports.service import RuntimeInfo, Service, Turn, TurnRequest
from sojourn.text.codec import error_class, error_from_code

DEFAULT = "default"


def model_ids(found: RuntimeInfo) -> list[str]:
    """`offline`, and `native/<model>` for each model a runtime has."""
    return [found.name, *(f"{found.name}/{model}" for model in found.models)]


async def parse_model(service: Service, name: str) -> tuple[str, str]:
    """The runtime and model an id stands for; both empty for the default. NotFound."""
    if name == DEFAULT:
        return "", ""
    runtime, _, model = name.partition("/")
    known = {one.name: one for one in await service.runtimes()}
    if runtime not in known:
        offered = ", ".join([DEFAULT, *(one.name for one in known.values() if one.offered)])
        raise NotFound(f"There is no model {name!r}.", hint=f"Use one of /v1/models: {offered}.")
    return runtime, model


@dataclass(slots=True)
class Completion:
    """A turn under way. Iterating `pieces` yields its text; afterwards `text`, `done` and `failure` are complete."""

    started: StartedCompletion
    sessions: StatelessSessions
    parts: list[str] = field(default_factory=list)
    done: Done = field(default_factory=lambda: Done(status="interrupted"))
    failure: SojournError | None = None

    @property
    def turn(self) -> Turn:
        return self.started.turn

    @property
    def text(self) -> str:
        return "".join(self.parts)

    @property
    def headers(self) -> dict[str, str]:
        session = self.turn.session
        return {"Sojourn-Session": session, "X-Sojourn-Session": session, "Sojourn-Turn": self.turn.id}

    def usage(self, name: str) -> int:
        value = self.done.usage.get(name)
        return int(value) if isinstance(value, int | float) else 0

    async def pieces(self) -> AsyncGenerator[str, None]:
        """The text as it comes. At the end the session is noted as the one that goes on with it."""
        service, principal = self.sessions.service, self.sessions.caller.principal
        log = service.watch(self.turn.session, after=self.turn.after, principal=principal)
        async for recorded in filter_turn(self.turn, log):
            match recorded.item:
                case Chunk(text=text):
                    self.parts.append(replace_surrogates(text))
                    yield self.parts[-1]
                case Failed() as failed:
                    self.failure = _to_error(failed)
                case Done() as done:
                    self.done = done
                    if done.status == "completed":
                        await self.sessions.save(self.started, self.text)

    async def collect(self) -> str:
        """The whole text. Raises the error that the turn ended with."""
        async for _ in self.pieces():
            pass
        if self.failure is not None:
            raise self.failure
        return self.text


def _to_error(failure: Failed) -> SojournError:
    """The error a turn ended with, as this answer's own."""
    if error_class(failure.code) is SojournError:
        return RuntimeFailed(failure.message, hint=failure.hint)
    return error_from_code(failure.code, failure.message, hint=failure.hint)


@dataclass(frozen=True, slots=True)
class Completions:
    """Starts the turns of `/v1` calls."""

    sessions: StatelessSessions
    activity: ActivityDep

    async def start(
        self, prompt: CallPrompt, model: str, *, session: str | None = None, branch: bool = False
    ) -> Completion:
        """session: the full id of the session to go on with, whatever the call says was said before"""
        service, caller = self.sessions.service, self.sessions.caller
        runtime, name = await parse_model(service, model)
        wanted = (await service.get(SessionId(session), principal=caller.principal)).id if session else None
        request = TurnRequest(text=prompt.text, runtime=runtime, model=name, attended=False)
        started = await self.sessions.start(prompt, request, session=wanted, branch=branch)
        self.activity.add_session(started.turn.session)
        return Completion(started, self.sessions)


async def _completions(
    request: Request, service: ServiceDep, store: StoreDep, caller: CallerDep, activity: ActivityDep
) -> Completions:
    scope = request.app.state.access.mark
    return Completions(StatelessSessions(service=service, store=store, caller=caller, scope=scope), activity)


CompletionsDep = Annotated[Completions, Depends(_completions)]
