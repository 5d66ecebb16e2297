"""Search over messages and titles."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from sojourn.core.errors import BadInput
from sojourn.core.sessions import Principal, SessionId
from sojourn.http import schemas
from sojourn.http.dependencies import (
    MAX_INTEGER,
    ExactForm,
    PrincipalDep,
    ServiceDep,
    SessionAnswer,
    StoreDep,
    exact_response,
    problem_responses,
)
from sojourn.http.json_safe import Instant, to_timestamp
from sojourn.http.sessions import ARCHIVED, Folder, Name, SessionListParams
from sojourn.ports.store import SearchQuery

router = APIRouter(prefix="/api", tags=["search"])
_MAX_VALUES = 500  # of one facet


class SearchParams(schemas.StrictSchema):
    """What to look for. Undone rows are never found; summarised and archived ones are."""

    q: str = Field(
        default="", max_length=2048, description='Words, "two words" in a row, get_user, conf*, 错误信息. Or a `tool`.'
    )
    role: list[Name] = Field(default=[], max_length=20, description="user, assistant, tool, system …")
    source: list[Name] = Field(default=[], max_length=50)
    program: list[Name] = Field(default=[], max_length=50, description="Whose history it was imported from; `sojourn`.")
    project: list[Folder] = Field(default=[], max_length=5, description="Only in sessions of these folders.")
    model: list[Name] = Field(default=[], max_length=50, description="Only in sessions with these models.")
    tag: list[Name] = Field(default=[], max_length=50, description="Only in sessions that have all of them.")
    archived: Literal["yes", "no", "any"] = Field(default="any", description="Whether the session is archived.")
    tool: str = Field(default="", max_length=200, description="Only calls and results of this tool.")
    since: Instant | None = Field(default=None, description="Said at that moment or later. No zone means UTC.")
    until: Instant | None = Field(default=None, description="Said before that moment.")
    session: str | None = Field(
        default=None, min_length=1, max_length=255, description="Id, beginning of it, or title."
    )
    order: Literal["relevance", "newest"] = Field(
        default="relevance", description="The best first, words in any form; or the newest with every word as written."
    )
    limit: int = Field(default=20, ge=1, le=200)
    before: int | None = Field(default=None, ge=0, le=MAX_INTEGER, description="The `next` of the page before.")

    def search(self, inside: SessionId | None, principal: Principal) -> SearchQuery:
        return SearchQuery(
            text=self.q,
            principal=principal,
            session=inside,
            roles=tuple(self.role),
            sources=tuple(self.source),
            tags=tuple(self.tag),
            programs=tuple(self.program),
            projects=tuple(self.project),
            models=tuple(self.model),
            archived=ARCHIVED[self.archived],
            tool=self.tool,
            since=to_timestamp(self.since),
            until=to_timestamp(self.until),
            limit=self.limit + 1,
            before=self.before,
            order=self.order,
        )


@router.get("/resolve", summary="Find one session", responses=problem_responses(404, 409))
async def resolve(
    store: StoreDep,
    principal: PrincipalDep,
    answer: SessionAnswer,
    words: Annotated[str, Query(min_length=1, max_length=1000, description="Id, beginning of it, or title.")],
) -> schemas.SessionDetail:
    """As `/api/sessions/{id}`, also for titles with a `/` in them."""
    return answer(await store.resolve(words, principal=principal))


class QuestionBody(schemas.StrictSchema):
    """A question to everything that was said."""

    question: str = Field(min_length=1, max_length=2048)


class QuoteSchema(schemas.AttributeSchema):
    """A part of a message, word for word."""

    session: str
    seq: int
    role: str
    title: str
    day: str
    score: float
    text: str


class AnswerSchema(schemas.AttributeSchema):
    """An answer and what it stands on; `found` is false if the history has none."""

    found: bool
    text: str
    quotes: list[QuoteSchema]
    written_by: str = Field(description="The runtime that worded it; empty: the quotes themselves.")


@router.post("/ask", summary="Ask everything that was said", responses=problem_responses(400))
async def ask(body: QuestionBody, service: ServiceDep, principal: PrincipalDep) -> AnswerSchema:
    """Every sentence of the answer stands on quotes that are in the log word for word."""
    return AnswerSchema.model_validate(await service.ask(body.question, principal=principal))


@router.get("/search", summary="Search messages and titles", responses=problem_responses(400, 404, 409))
async def search(
    params: Annotated[SearchParams, Query()], store: StoreDep, principal: PrincipalDep, form: ExactForm
) -> schemas.HitPage:
    if not params.q and not params.tool:
        raise BadInput("Nothing is looked for.", hint="Give words as `q`, or the name of a `tool`.")
    inside = (await store.resolve(params.session, principal=principal)).id if params.session else None
    found = await store.search(params.search(inside, principal))
    shown = found[: params.limit]
    more = shown[-1].at if len(found) > params.limit else None
    if form:
        return exact_response({"hits": shown, "next": more}, schemas.HitPage)
    return schemas.HitPage(hits=[schemas.HitSchema.of(one) for one in shown], next=more)


@router.get("/facets", summary="Count sessions by what they can be filtered by", responses=problem_responses(400))
async def count_facets(
    params: Annotated[SessionListParams, Query()], store: StoreDep, principal: PrincipalDep
) -> schemas.FacetPage:
    """The same filters as the list. What is chosen in one facet limits the others, not that one."""
    listing = params.listing(principal)
    found = await store.count_facets(listing)
    shown = {
        facet: [schemas.FacetValue(value=value, count=count) for value, count in list(values.items())[:_MAX_VALUES]]
        for facet, values in found.items()
    }
    return schemas.FacetPage(total=await store.count(listing), facets=shown)
