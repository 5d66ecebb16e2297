"""Signing in with a browser: a link that works once, the token typed in, and signing out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from sojourn.core.errors import NotAllowed
from sojourn.http.dependencies import BrowserSessionsDep, problem_responses
from sojourn.http.schemas import StrictSchema

router = APIRouter(tags=["visits"])
PATH = "/enter"
# The page goes on by itself: the cookie of a strict site is sent only when one of its own pages asks.
_SIGNED_IN_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Sojourn</title>
<meta http-equiv="refresh" content="0; url=/"><p><a href="/">Go on to Sojourn</a></p></html>"""
_USED_LINK_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Sojourn</title>
<p>This link has been used already, or it is too old. <code>sojourn dashboard</code> makes a new one.</p>
<p><a href="/">Go on to Sojourn</a></p></html>"""
_GUARD = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Referrer-Policy": "no-referrer"}


class TokenBody(StrictSchema):
    """The token, typed in."""

    token: str = Field(min_length=1, max_length=1000)


class OneTimeLink(BaseModel):
    """A link that opens the dashboard once."""

    path: str = Field(description="Put it behind the server's address.")


def _host(request: Request) -> str:
    return request.headers.get("host", "")


@router.get(PATH, include_in_schema=False)
async def follow(
    request: Request, visitors: BrowserSessionsDep, key: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """The page behind a one-time link."""
    if not visitors.redeem(key):
        return HTMLResponse(_USED_LINK_PAGE, 403, headers=_GUARD)
    return HTMLResponse(_SIGNED_IN_PAGE, headers={**_GUARD, "Set-Cookie": visitors.cookie(_host(request))})


@router.post(PATH, include_in_schema=False, status_code=204)
async def enter(body: TokenBody, request: Request, visitors: BrowserSessionsDep) -> Response:
    """The token, from the page that asks for it."""
    if not visitors.has_token(body.token.strip()):
        raise NotAllowed("That is not this server's token.", hint="It was printed at start; server.json has it too.")
    return Response(status_code=204, headers={"Set-Cookie": visitors.cookie(_host(request))})


@router.post("/api/leave", status_code=204, summary="End a visit")
async def leave(request: Request, visitors: BrowserSessionsDep) -> Response:
    """Takes the cookie back from this browser."""
    return Response(status_code=204, headers={"Set-Cookie": visitors.expired_cookie(_host(request))})


@router.post("/api/links", status_code=201, summary="Make a one-time link", responses=problem_responses(401))
async def link(visitors: BrowserSessionsDep) -> OneTimeLink:
    """A link that opens the dashboard in a browser, once and within an hour."""
    return OneTimeLink(path=f"{PATH}?key={visitors.new_key()}")
