"""Turns: start, steer, approve, stop, undo. Closing a connection stops nothing."""

from __future__ import annotations

import asyncio
import base64
import binascii
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Path, Response
from pydantic import BaseModel, Field, StrictBool

from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadInput, Conflict, NotFound
from sojourn.core.sessions import SessionId, TurnId
from sojourn.http.dependencies import (
    ActivityDep,
    CallerDep,
    ExactForm,
    ExactId,
    ExactSession,
    ServiceDep,
    SessionAnswer,
    StoreDep,
    exact_response,
    problem_responses,
)
from sojourn.http.json_safe import IsoDate, Text, replace_surrogates, to_iso_date
from sojourn.http.schemas import SessionDetail, StrictSchema
from sojourn.ports.service import Service, TurnRequest
from sojourn.ports.store import BlobStore
from sojourn.ports.tool import Reply
from sojourn.service.turn_record import KIND as TURN_KIND
from sojourn.service.turn_record import list_active_turns
from sojourn.text.formatting import to_iso
from sojourn.text.redaction import holds_secrets

router = APIRouter(prefix="/api/sessions/{id}", tags=["turns"], responses=problem_responses(404, 409))
RUNNING = "running"
Word = Annotated[str, Field(max_length=200)]
Key = Annotated[
    str | None,
    Header(max_length=200, description="The same key in one session starts one turn, however often it is sent."),
]
TurnName = Annotated[
    str, Path(pattern="^(running|t_[0-9a-f]{16})$", description="A turn's id, or `running` for the one that runs.")
]
QuestionName = Annotated[str, Path(min_length=1, max_length=200, description="The id of the question.")]
TURN_FAULTS = problem_responses(400, 402, 404, 409, 429, 501, 502, 504)


class AttachmentBody(StrictSchema):
    """A file that goes with what is said: one that was uploaded to this session (`hash`), or its bytes (`data`)."""

    hash: str | None = Field(default=None, pattern="^[0-9a-f]{64}$", description="SHA-256 of its bytes.")
    data: str | None = Field(default=None, description="The bytes themselves, in base64.")
    media_type: str = Field(default="", max_length=201, description="For example image/png.")
    name: str = Field(default="", max_length=255)


class TurnBody(StrictSchema):
    """Something to say. What is left out is as the session has it, or the default."""

    message: str = Field(max_length=2_000_000)
    runtime: Word = ""
    model: Word = ""
    template: Word = Field(default="", description="A template's name; `none` for none.")
    attachments: list[AttachmentBody] = Field(default=[], max_length=50)
    drop: list[Word] = Field(default=[], max_length=50, description="Context sources or templates that are not wanted.")
    cwd: str = Field(default="", max_length=4096)
    when_busy: Literal["refuse", "wait"] = Field(default="refuse", description="`wait` queues behind a running turn.")
    internal: StrictBool = Field(default=False, description="An announcement, not a person's words.")
    attended: StrictBool = Field(default=True, description="false: nobody can answer; what asks is refused at once.")
    allow: list[Word] = Field(
        default=[], max_length=50, description="Tools allowed beforehand, inside the sandbox. Needs `attended: false`."
    )

    def require_content(self) -> None:
        if not self.message.strip() and not self.attachments:
            raise BadInput("There is nothing to say.", hint="`message` needs at least one letter, or an attachment.")
        if self.allow and self.attended:
            raise BadInput("`allow` is for requests without anybody there.", hint="Send `attended: false` with it.")

    async def to_request(self, session: SessionId, key: str | None, service: Service, blobs: BlobStore) -> TurnRequest:
        attached = [await _to_attachment(one, session, service, blobs) for one in self.attachments]
        return TurnRequest(
            text=self.message,
            attachments=tuple(attached),
            runtime=self.runtime,
            model=self.model,
            template=self.template,
            drop=tuple(self.drop),
            key=key or "",
            internal=self.internal,
            cwd=self.cwd,
            attended=self.attended,
            allow=tuple(self.allow),
        )


class TurnStarted(BaseModel):
    """A turn that was started. Follow it from `after` to see all of it."""

    turn_id: str
    session_id: str
    after: int = Field(description="Give it to `/events` as `after`.")


class RunningTurn(BaseModel):
    """Which turn runs."""

    turn_id: str | None = Field(description="null: none.")


class ActiveTurn(BaseModel):
    """A turn that runs, or a request that waits for its turn."""

    turn_id: str
    state: Literal["running", "queued"]
    message: Text
    files: list[Text] = Field(description="Names of what is attached.")
    by: Text
    at: IsoDate = Field(description="Since when it runs or waits.")


class ActiveTurns(BaseModel):
    """The running turn first, then those that wait, in their order."""

    turns: list[ActiveTurn]


class StopResult(BaseModel):
    """Whether there was something to stop."""

    stopped: bool


class ApprovalBody(StrictSchema):
    """What a person chose when a turn asked (`progress`, stage `approval`)."""

    question: str = Field(min_length=1, max_length=200, description="The id of the question.")
    choice: str = Field(min_length=1, max_length=50, description="One of its choices: once, session, always, deny.")
    why: str = Field(default="", max_length=2000)
    covers: Literal["exact", "tool"] | None = Field(
        default=None,
        description="Of `session` and `always`: this exact text, or every call of the tool in its scope. "
        "Left out: the tool for `session`, the exact text for `always`.",
    )


class QuestionText(BaseModel):
    """A question that waits, with exactly the text that will run. It is gone once the question is settled."""

    question: str
    turn_id: str
    text: str
    sha256: str = Field(description="Of the text, in UTF-8; the event of the question has it too.")
    asked_at: str


class SteerBody(StrictSchema):
    """Something to tell a running turn."""

    text: str = Field(min_length=1, max_length=100_000)


class UndoResult(BaseModel):
    """How many messages are hidden now."""

    hidden: int


@router.post("/turns", status_code=202, summary="Say something", responses=TURN_FAULTS)
async def say(
    session: ExactSession,
    wanted: TurnBody,
    service: ServiceDep,
    store: StoreDep,
    caller: CallerDep,
    activity: ActivityDep,
    idempotency_key: Key = None,
) -> TurnStarted:
    """What was said is kept when this answers; the turn runs on by itself."""
    wanted.require_content()
    request = await wanted.to_request(session.id, idempotency_key, service, store)
    turn = await service.say(session.id, request, caller, when_busy=wanted.when_busy)
    activity.add_session(turn.session)
    return TurnStarted(turn_id=turn.id, session_id=turn.session, after=turn.after)


@router.get("/turns/running", summary="Which turn runs")
async def running(session: ExactSession, service: ServiceDep) -> RunningTurn:
    return RunningTurn(turn_id=await service.running(session.id))


@router.get("/turns", summary="What runs and what waits")
async def list_turns(session: ExactSession, store: StoreDep) -> ActiveTurns:
    return ActiveTurns(
        turns=[
            ActiveTurn(
                turn_id=one.id,
                state="running" if one.state == "running" else "queued",
                message=one.said.text,
                files=[file.name for file in one.said.attachments],
                by=one.caller_label,
                at=to_iso_date(one.since),
            )
            for one in await store.snapshot(partial(list_active_turns, session=session.id))
            if one.state != "stopped"
        ]
    )


@router.delete("/turns/queued/{turn}", status_code=204, summary="Take a request back that waits")
async def take_back(session: ExactSession, turn: TurnName, store: StoreDep) -> None:
    """It leaves no trace. 409 if it runs already: stop it then."""
    for record in await store.list_records(TURN_KIND, session=session.id):
        if record.value["id"] == turn and record.value["state"] == "queued":
            await store.delete_record(TURN_KIND, record.key, expect=record.revision)
            return
    raise Conflict(f"Turn {turn} does not wait any more.", hint="Stop it if it runs.")


@router.post("/turns/{turn}/stop", summary="Stop a turn")
async def stop(session: ExactSession, turn: TurnName, service: ServiceDep, caller: CallerDep) -> StopResult:
    """Asks it to stop, wherever it runs. One that is over already is no mistake: `stopped` is false."""
    wanted = None if turn == RUNNING else TurnId(turn)
    return StopResult(stopped=await service.stop(session.id, caller, turn=wanted))


@router.post("/turns/{turn}/approval", status_code=204, summary="Answer a question", responses=problem_responses(400))
async def approve(id: ExactId, turn: TurnName, answer: ApprovalBody, service: ServiceDep, caller: CallerDep) -> None:
    """Only the owner may; who asked and whose session it is makes no difference."""
    session = SessionId(id)
    if turn != RUNNING and turn != await service.running(session):
        raise NotFound(f"Turn {turn} is over or never was.", hint="`/turns/running` says which one runs.")
    by = caller.name or ("the dashboard" if caller.surface == "web" else caller.holder)
    reply = Reply(choice=answer.choice, by=by, why=answer.why, covers=answer.covers)
    await service.answer(session, answer.question, reply, caller)


@router.get("/questions/{question}", summary="What exactly a question is about", responses=problem_responses(401))
async def get_question(
    id: ExactId, question: QuestionName, service: ServiceDep, caller: CallerDep, form: ExactForm, response: Response
) -> QuestionText:
    """Only the owner may see it. Events have it redacted."""
    found = await service.get_question(SessionId(id), question, caller)
    if form:
        return exact_response(found, QuestionText)
    response.headers["Cache-Control"] = "no-store"
    return QuestionText(
        question=found.id,
        turn_id=found.turn,
        text=replace_surrogates(found.exact),
        sha256=found.sha256,
        asked_at=to_iso(found.asked_at) or "",
    )


@router.post("/steer", status_code=204, summary="Tell a running turn something", responses=problem_responses(400))
async def steer(session: ExactSession, what: SteerBody, service: ServiceDep, caller: CallerDep) -> None:
    await service.steer(session.id, what.text, caller)


@router.post("/take", summary="Take over")
async def take(session: ExactSession, service: ServiceDep, caller: CallerDep, answer: SessionAnswer) -> SessionDetail:
    """The calling surface becomes the driver."""
    return answer(await service.take_over(session.id, caller))


@router.post("/undo", summary="Hide the last request and its answer")
async def undo(session: ExactSession, service: ServiceDep, caller: CallerDep) -> UndoResult:
    return UndoResult(hidden=await service.undo(session.id, caller))


async def _to_attachment(wanted: AttachmentBody, session: SessionId, service: Service, blobs: BlobStore) -> Attachment:
    if (wanted.hash is None) == (wanted.data is None):
        raise BadInput("An attachment has either `hash` or `data`.", hint="Upload it first, or send it as base64.")
    if wanted.hash is not None:
        data, kind = await blobs.get_blob(session, wanted.hash)
        marked = await asyncio.to_thread(holds_secrets, data)
        return Attachment(hash=wanted.hash, media_type=kind, name=wanted.name, size=len(data), holds_secrets=marked)
    return await service.attach(
        session,
        decode_base64(wanted.data or ""),
        media_type=wanted.media_type or "application/octet-stream",
        name=wanted.name,
    )


def decode_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput(f"An attachment is not base64: {error}.", hint="Encode its bytes with base64.") from error
