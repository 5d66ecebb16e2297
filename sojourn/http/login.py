"""The door for people with a browser: a link that works once, the token typed in, and the way out."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from sojourn.core.errors import NotAllowed
from sojourn.http.browser_sessions import BrowserSessions
from sojourn.http.dependencies import problem_responses

router = APIRouter(tags=["visits"])
PATH = "/enter"
# The page goes on by itself: the cookie of a strict site is sent only when one of its own pages asks.
_SIGNED_IN_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Sojourn</title>
<meta http-equiv="refresh" content="0; url=/"><p><a href="/">Go on to Sojourn</a></p></html>"""
_USED_LINK_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Sojourn</title>
<p>This link was used already, or is too old. <code>sojourn dashboard</code> makes a new one.</p>
<p><a href="/">Go on to Sojourn</a></p></html>"""
_GUARD = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Referrer-Policy": "no-referrer"}


class TokenBody(BaseModel):
    """The token, typed in."""

    model_config = ConfigDict(extra="forbid")
    token: str = Field(min_length=1, max_length=1000)


class OneTimeLink(BaseModel):
    """A link that opens the dashboard once."""

    path: str = Field(description="Put it behind the server's address.")


def _visitors(request: Request) -> BrowserSessions:
    return cast(BrowserSessions, request.app.state.visitors)


def _host(request: Request) -> str:
    return request.headers.get("host", "")


@router.get(PATH, include_in_schema=False)
async def follow(request: Request, key: Annotated[str, Query(max_length=200)] = "") -> Response:
    """What a one-time link leads to."""
    visitors = _visitors(request)
    if not visitors.use(key):
        return HTMLResponse(_USED_LINK_PAGE, 403, headers=_GUARD)
    return HTMLResponse(_SIGNED_IN_PAGE, headers={**_GUARD, "Set-Cookie": visitors.cookie(_host(request))})


@router.post(PATH, include_in_schema=False, status_code=204)
async def enter(shown: TokenBody, request: Request) -> Response:
    """The token, from the page that asks for it."""
    visitors = _visitors(request)
    if not visitors.has_token(shown.token.strip()):
        raise NotAllowed("That is not this server's token.", hint="It was printed at start; server.json has it too.")
    return Response(status_code=204, headers={"Set-Cookie": visitors.cookie(_host(request))})


@router.post("/api/leave", status_code=204, summary="End a visit")
async def leave(request: Request) -> Response:
    """Takes the cookie back from this browser."""
    return Response(status_code=204, headers={"Set-Cookie": _visitors(request).farewell(_host(request))})


@router.post("/api/links", status_code=201, summary="Make a one-time link", responses=problem_responses(401))
async def link(request: Request) -> OneTimeLink:
    """A link that opens the dashboard in a browser, once and within an hour."""
    return OneTimeLink(path=f"{PATH}?key={_visitors(request).new_key()}")
