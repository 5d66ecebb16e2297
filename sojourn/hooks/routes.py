"""`/api/plugins/hooks`: takes events of other agents' hooks, and lists what was answered."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.errors import BadInput
from sojourn.hooks.agent_questions import LEDGER_KIND, AgentQuestions, ledger_to_json
from sojourn.hooks.hook_input import MAX_DETAIL_CHARS, HookEvent
from sojourn.ports.app import AppContext


class HookEventBody(BaseModel):
    """An event of an agent, as its hook understood it."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["question", "waiting", "idle"]
    program: Literal["claude", "codex", "gemini", "opencode"]
    session: str = Field(max_length=200, description="The agent's own id of its session.")
    folder: str = Field(default="", max_length=4000)
    tool: str = Field(default="", max_length=200)
    detail: str = Field(default="", max_length=MAX_DETAIL_CHARS, description="Exactly what will run.")
    text: str = Field(default="", max_length=300, description="What it waits for.")
    transcript: str = Field(default="", max_length=4000)
    seconds: float = Field(default=0.0, ge=0, le=86_400, description="How long a question waits.")


class HookAnswerBody(BaseModel):
    """What a person chose; `deny` if nobody did."""

    choice: Literal["once", "deny"]
    by: str
    why: str


def router(app: AppContext) -> APIRouter:
    api = APIRouter()

    @api.post("/events", summary="An event of an agent")
    async def take_event(body: HookEventBody, request: Request) -> HookAnswerBody:
        """Waits for the answer to a question. A hook that goes away takes its question with it."""
        values = body.model_dump()
        seconds = min(values.pop("seconds"), float(app.settings["agent.approval_seconds"]))
        event, questions = HookEvent(**values), app.shared(AgentQuestions)
        if event.kind != "question":
            await questions.notify(event)
            return HookAnswerBody(choice="deny", by="", why="")
        if not event.tool or not seconds:
            raise BadInput("A question names a tool and a time.", hint="Install the hook again.")
        asked, gone = asyncio.create_task(questions.ask(event, seconds)), asyncio.create_task(_wait_until_gone(request))
        try:
            await asyncio.wait({asked, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                return HookAnswerBody(choice="deny", by="", why="The agent no longer waits.")
            reply = await asked
            return HookAnswerBody(choice="once" if reply.choice == "once" else "deny", by=reply.by, why=reply.why)
        finally:
            await cancel_tasks([asked, gone])

    @api.get("/answers", summary="What was answered")
    async def list_answers(after: str = "", limit: int = 200) -> list[dict[str, Any]]:
        """The ledger, oldest first."""
        found = await app.store.list_records(LEDGER_KIND, after=after, limit=max(1, min(limit, 1000)))
        return [dict(ledger_to_json(one)) for one in found]

    return api


async def _wait_until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
