"""Talking: start a turn, and talk to one that runs. A turn goes on whoever hangs up; stopping is said."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field

from sojourn.core.errors import NotFound
from sojourn.core.sessions import SessionId, TurnId
from sojourn.http import schemas
from sojourn.http.activity import ActivityHere
from sojourn.http.dependencies import Exact, ExactId, Exactly, ServiceHere, SpeakerHere, StoreHere, faults
from sojourn.http.sessions import whole
from sojourn.http.turn_body import Key, TurnBody
from sojourn.ports.tool import Reply

router = APIRouter(prefix="/api/sessions/{id}", tags=["turns"])
RUNNING = "running"
TurnName = Annotated[
    str, Path(pattern="^(running|t_[0-9a-f]{16})$", description="A turn's id, or `running` for the one that runs.")
]
TALKING = faults(400, 402, 404, 409, 429, 501, 502, 504)


class Started(BaseModel):
    """A turn that was started. Follow it from `after` to see all of it."""

    turn_id: str
    session_id: str
    after: int = Field(description="Give it to `/events` as `after`.")


class Running(BaseModel):
    """Which turn runs."""

    turn_id: str | None = Field(description="null: none.")


class Stopped(BaseModel):
    """Whether there was something to stop."""

    stopped: bool


class Answer(BaseModel):
    """What a person chose when a turn asked (`progress`, stage `approval`)."""

    model_config = ConfigDict(extra="forbid")
    question: str = Field(min_length=1, max_length=200, description="The id of the question.")
    choice: str = Field(min_length=1, max_length=50, description="One of its choices: once, session, always, deny.")
    why: str = Field(default="", max_length=2000)


class Steering(BaseModel):
    """Something to tell a running turn."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(min_length=1, max_length=100_000)


class Undone(BaseModel):
    """How many messages are hidden now."""

    hidden: int


@router.post("/turns", status_code=202, summary="Say something", responses=TALKING)
async def say(
    session: Exact,
    wanted: TurnBody,
    service: ServiceHere,
    store: StoreHere,
    speaker: SpeakerHere,
    activity: ActivityHere,
    idempotency_key: Key = None,
) -> Started:
    """What was said is kept when this answers; the turn runs on by itself."""
    wanted.must_say_something()
    said = await wanted.said(session.id, idempotency_key, service, store)
    turn = await service.say(session.id, said, speaker, when_busy=wanted.when_busy)
    activity.started(turn.session)
    return Started(turn_id=turn.id, session_id=turn.session, after=turn.after)


@router.get("/turns/running", summary="Which turn runs", responses=faults(404, 409))
async def running(session: Exact, service: ServiceHere) -> Running:
    return Running(turn_id=await service.running(session.id))


@router.post("/turns/{turn}/stop", summary="Stop a turn", responses=faults(404, 409))
async def stop(session: Exact, turn: TurnName, service: ServiceHere, speaker: SpeakerHere) -> Stopped:
    """Asks it to stop, wherever it runs. One that is over already is no mistake: `stopped` is false."""
    wanted = None if turn == RUNNING else TurnId(turn)
    return Stopped(stopped=await service.stop(session.id, speaker, turn=wanted))


@router.post("/turns/{turn}/approval", status_code=204, summary="Answer a question", responses=faults(400, 404, 409))
async def approve(id: ExactId, turn: TurnName, answer: Answer, service: ServiceHere, speaker: SpeakerHere) -> None:
    """Only the owner may; who asked and whose session it is makes no difference."""
    session = SessionId(id)
    if turn != RUNNING and turn != await service.running(session):
        raise NotFound(f"Turn {turn} is over or never was.", hint="`/turns/running` says which one runs.")
    reply = Reply(choice=answer.choice, by=speaker.name or speaker.holder, why=answer.why)
    await service.answer(session, answer.question, reply, speaker)


@router.post("/steer", status_code=204, summary="Tell a running turn something", responses=faults(400, 404, 409))
async def steer(session: Exact, what: Steering, service: ServiceHere, speaker: SpeakerHere) -> None:
    await service.steer(session.id, what.text, speaker)


@router.post("/take", summary="Take the wheel", response_model=schemas.WholeSession, responses=faults(404, 409))
async def take(
    session: Exact, service: ServiceHere, speaker: SpeakerHere, response: Response, form: Exactly
) -> schemas.WholeSession | Response:
    """From now on this surface drives."""
    return whole(await service.take_over(session.id, speaker), response, form)


@router.post("/undo", summary="Hide the last request and its answer", responses=faults(404, 409))
async def undo(session: Exact, service: ServiceHere, speaker: SpeakerHere) -> Undone:
    return Undone(hidden=await service.undo(session.id, speaker))
