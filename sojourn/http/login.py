"""Signing in with a browser: a link that works once, or the token typed in; the list of browsers; signing out."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from sojourn.core.errors import NotAllowed
from sojourn.http.auth import BROWSER_SCOPE
from sojourn.http.browser_sessions import BrowserSessions, SignedIn
from sojourn.http.dependencies import (
    AccessTokenDep,
    AdmissionsDep,
    BrowserSessionsDep,
    OneTimeLinksDep,
    problem_responses,
)
from sojourn.http.host_names import Host, parse_host
from sojourn.http.json_safe import IsoDate
from sojourn.http.plain_pages import build_page
from sojourn.http.schemas import AttributeSchema, StrictSchema
from sojourn.http.user_agent import describe_browser

router = APIRouter(tags=["visits"])
PATH = "/enter"
# The name is the one in web/src/api/pageKey.ts.
_KEEP_PAGE_KEY = 'localStorage.setItem("sojourn.page-key", {key}); location.replace("/");'


class TokenBody(StrictSchema):
    """The token, typed in."""

    token: str = Field(min_length=1, max_length=1000)


class PageKey(BaseModel):
    """The half of a browser session that the page keeps; the other half is the cookie."""

    page_key: str


class OneTimeLink(BaseModel):
    """A link that opens the dashboard once."""

    path: str = Field(description="Put it behind the server's address.")


class BrowserSchema(AttributeSchema):
    """A browser that is signed in."""

    id: str
    browser: str = Field(description="Which browser on which system, as far as it says so.")
    address: str = Field(description="From where it signed in.")
    since: IsoDate
    last_seen: IsoDate = Field(description="Within five minutes.")
    until: IsoDate
    current: bool = Field(default=False, description="Whether it is the one that asks.")


def _host(request: Request) -> Host:
    found = parse_host(request.headers["host"])
    assert found is not None  # AuthMiddleware has refused any other
    return found


async def _sign_in(request: Request, browsers: BrowserSessions) -> SignedIn:
    address = request.client.host if request.client else ""
    browser = describe_browser(request.headers.get("user-agent", ""))
    return await browsers.sign_in(_host(request), browser=browser, address=address)


@router.get(PATH, include_in_schema=False)
async def follow(
    request: Request,
    browsers: BrowserSessionsDep,
    links: OneTimeLinksDep,
    key: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """The page behind a one-time link. Its script keeps the page key where only pages of this origin find it."""
    languages = request.headers.get("accept-language", "")
    if not links.redeem(key):
        return build_page("used", languages, status=403)
    signed_in = await _sign_in(request, browsers)
    script = _KEEP_PAGE_KEY.format(key=json.dumps(signed_in.page_key))
    return build_page("enter", languages, script=script, cookie=signed_in.cookie)


@router.post(PATH, include_in_schema=False)
async def enter(
    body: TokenBody, request: Request, response: Response, browsers: BrowserSessionsDep, access: AccessTokenDep
) -> PageKey:
    """The token, from the page that asks for it."""
    if not await access.admits(body.token.strip(), request.client.host if request.client else ""):
        raise NotAllowed("That is not this server's token.", hint="`sojourn token show` prints it.")
    signed_in = await _sign_in(request, browsers)
    response.headers["Set-Cookie"] = signed_in.cookie
    return PageKey(page_key=signed_in.page_key)


@router.post("/api/leave", status_code=204, summary="Sign out")
async def leave(request: Request, browsers: BrowserSessionsDep, admissions: AdmissionsDep) -> Response:
    """Ends the browser session that asks, here and in the browser."""
    if id := request.scope.get(BROWSER_SCOPE):
        await browsers.sign_out(id)
        await admissions.end_revoked()
    return Response(status_code=204, headers={"Set-Cookie": browsers.expired_cookie(_host(request))})


@router.get("/api/browsers", summary="List the browsers that are signed in")
async def list_browsers(request: Request, browsers: BrowserSessionsDep) -> list[BrowserSchema]:
    """The one seen last first."""
    current = request.scope.get(BROWSER_SCOPE)
    found = [BrowserSchema.model_validate(one) for one in await browsers.list_sessions()]
    return [one.model_copy(update={"current": one.id == current}) for one in found]


@router.delete("/api/browsers/{id}", status_code=204, summary="Sign a browser out", responses=problem_responses(404))
async def sign_out(
    id: Annotated[str, Path(min_length=1, max_length=64)], browsers: BrowserSessionsDep, admissions: AdmissionsDep
) -> Response:
    """At once: what it has open ends, too."""
    await browsers.sign_out(id)
    await admissions.end_revoked()
    return Response(status_code=204)


@router.post("/api/links", status_code=201, summary="Make a one-time link", responses=problem_responses(401))
async def link(links: OneTimeLinksDep) -> OneTimeLink:
    """A link that opens the dashboard in a browser, once and within an hour."""
    return OneTimeLink(path=f"{PATH}?key={links.new_key()}")
