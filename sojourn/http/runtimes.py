"""Runtimes, and the usage of a session."""

from __future__ import annotations

from contextlib import aclosing

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sojourn.core.events import Done, Metadata
from sojourn.core.sessions import Session, TurnId
from sojourn.http.dependencies import ResolvedSession, ServiceDep, StoreDep, problem_responses
from sojourn.http.json_safe import IsoDate, JsonSafe, Text, to_iso_date, to_number
from sojourn.http.schemas import AttributeSchema
from sojourn.ports.store import SessionStore

router = APIRouter(prefix="/api", tags=["runtimes"])


class RuntimeSchema(AttributeSchema):
    """What answers: a model, an agent, or the rules that need neither."""

    name: Text
    label: Text
    ok: bool = Field(description="Whether it can work now.")
    detail: Text = Field(description="What it is, or what is missing.")
    hint: Text
    models: list[Text]
    default: bool
    offered: bool = Field(description="Whether lists offer it; otherwise it works by name.")
    steers: bool = Field(description="Whether a running turn hears what is said to it (`POST …/steer`).")


class TurnUsage(BaseModel):
    """What one turn used, in the words of its runtime."""

    turn_id: str | None
    status: str
    at: IsoDate
    runtime: Text
    model: Text
    usage: dict[str, JsonSafe]


class UsageReport(BaseModel):
    """What a session used. Imported sessions have figures of their own, in `imported`."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None = Field(description="null: nobody knows.")
    turns: list[TurnUsage]
    imported: dict[str, float]


@router.get("/runtimes", summary="What can think here")
async def runtimes(service: ServiceDep) -> list[RuntimeSchema]:
    return [RuntimeSchema.model_validate(one) for one in await service.runtimes()]


@router.get("/sessions/{id}/usage", summary="Tokens and cost", responses=problem_responses(404, 409))
async def usage(session: ResolvedSession, store: StoreDep) -> UsageReport:
    turns = await _turns(store, session)
    costs = [cost for one in turns if (cost := to_number(one.usage.get("cost_usd"))) is not None]
    return UsageReport(
        input_tokens=sum(int(to_number(one.usage.get("input_tokens")) or 0) for one in turns),
        output_tokens=sum(int(to_number(one.usage.get("output_tokens")) or 0) for one in turns),
        cost_usd=sum(costs) if costs else None,
        turns=turns,
        imported={
            "input_tokens": session.input_tokens,
            "output_tokens": session.output_tokens,
            "cost_usd": session.estimated_cost_usd or 0.0,
        },
    )


async def _turns(store: SessionStore, session: Session) -> list[TurnUsage]:
    begun: dict[TurnId | None, Metadata] = {}
    over: list[TurnUsage] = []
    async with aclosing(store.read(session.id)) as log:
        async for recorded in log:
            if isinstance(recorded.item, Metadata):
                begun[recorded.turn] = recorded.item
            elif isinstance(recorded.item, Done):
                about = begun.pop(recorded.turn, Metadata())
                over.append(
                    TurnUsage(
                        turn_id=recorded.turn,
                        status=recorded.item.status,
                        at=to_iso_date(recorded.at),
                        runtime=about.runtime,
                        model=about.model,
                        usage=dict(recorded.item.usage),
                    )
                )
    return over
