"""`/api/plugins/schedules`: lists and changes schedules; its lifespan runs them as long as the server."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, FastAPI
from pydantic import BaseModel, ConfigDict, Field

from sojourn.asyncio_tasks import run_beside
from sojourn.ports.app import AppContext
from sojourn.schedules.recurrence import parse_recurrence
from sojourn.schedules.runner import ScheduleRunner
from sojourn.schedules.schedule_book import Schedule, ScheduleBook
from sojourn.schedules.schedule_check import check_schedule
from sojourn.schedules.schedule_json import run_to_json, schedule_to_json


class ScheduleBody(BaseModel):
    """A new schedule."""

    model_config = ConfigDict(extra="forbid")
    when: str = Field(min_length=1, max_length=200, description="`every weekday 8:00`, or a cron expression.")
    text: str = Field(min_length=1, max_length=100_000, description="What is said.")
    name: str = Field(default="", max_length=100)
    deliver: str = Field(default="", max_length=200, description="A platform, or platform:chat.")
    timezone: str = Field(default="", max_length=100)
    runtime: str = Field(default="", max_length=100)
    model: str = Field(default="", max_length=200)
    budget_usd: float = Field(default=0.0, ge=0, le=1_000_000, description="Of a month; 0: none.")


class ScheduleChange(BaseModel):
    """What is different from now on; what is left out stays."""

    model_config = ConfigDict(extra="forbid")
    paused: bool | None = None
    when: str | None = Field(default=None, min_length=1, max_length=200)
    text: str | None = Field(default=None, min_length=1, max_length=100_000)
    name: str | None = Field(default=None, min_length=1, max_length=100)
    deliver: str | None = Field(default=None, max_length=200)
    budget_usd: float | None = Field(default=None, ge=0, le=1_000_000)


def router(app: AppContext) -> APIRouter:
    """The routes, and the runner behind them."""

    @asynccontextmanager
    async def lifespan(_server: FastAPI) -> AsyncIterator[None]:
        async with run_beside(ScheduleRunner(app.service, app.store).run()):
            yield

    api = APIRouter(lifespan=lifespan)

    @api.get("/schedules", summary="Schedules")
    async def list_schedules() -> list[dict[str, Any]]:
        return [schedule_to_json(one) for one in await ScheduleBook(app.store).list_schedules()]

    @api.post("/schedules", status_code=201, summary="Add a schedule")
    async def add(wanted: ScheduleBody) -> dict[str, Any]:
        check_schedule(app, deliver=wanted.deliver, runtime=wanted.runtime)
        made = Schedule(
            id="",
            name=wanted.name or wanted.text[:60],
            when=wanted.when,
            recurrence=parse_recurrence(wanted.when, wanted.timezone),
            text=wanted.text,
            deliver=wanted.deliver,
            runtime=wanted.runtime,
            model=wanted.model,
            budget_usd=wanted.budget_usd,
        )
        return schedule_to_json(await ScheduleBook(app.store).add(made))

    @api.get("/schedules/{id}/runs", summary="Runs of a schedule")
    async def runs(id: str) -> list[dict[str, Any]]:
        book = ScheduleBook(app.store)
        return [run_to_json(one) for one in await book.list_runs(await book.find(id))]

    @api.patch("/schedules/{id}", summary="Change a schedule, pause it, or go on")
    async def change(id: str, wanted: ScheduleChange) -> dict[str, Any]:
        check_schedule(app, deliver=wanted.deliver or "")
        book = ScheduleBook(app.store)
        return schedule_to_json(await book.change(await book.find(id), lambda one: _apply(one, wanted)))

    @api.delete("/schedules/{id}", status_code=204, summary="Remove a schedule")
    async def remove(id: str) -> None:
        book = ScheduleBook(app.store)
        await book.remove(await book.find(id))

    return api


def _apply(schedule: Schedule, wanted: ScheduleChange) -> Schedule:
    changes = wanted.model_dump(exclude_none=True)
    if "paused" in changes:
        changes["paused"] = "you paused it" if changes["paused"] else ""
    if "when" in changes:
        changes["recurrence"] = parse_recurrence(changes["when"], schedule.recurrence.timezone)
        changes["last_at"] = time.time()  # no time before the change is made up for
    return replace(schedule, **changes)
