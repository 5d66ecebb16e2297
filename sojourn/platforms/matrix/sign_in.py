"""Signs in to a homeserver with a password, which is not kept: Sojourn gets a device and an access token of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from sojourn.core.errors import BadInput, KeyRefused, PlatformDown, SendRefused
from sojourn.platforms.json_values import parse_body, read_objects, read_text
from sojourn.platforms.rest_client import RestClient
from sojourn.ports.plugin import SignInStep

_PATH = "/_matrix/client/v3/login"
_WITH_TOKEN = "Give an access token: sojourn gateway add matrix --set homeserver=… --set user=… --set access_token=…"


async def sign_in(given: Mapping[str, Any]) -> AsyncGenerator[SignInStep, str]:
    """Asks for the server, the account and its password; gives a token. BadInput, KeyRefused, PlatformDown."""
    homeserver, user = str(given.get("homeserver") or ""), str(given.get("user") or "")
    if not homeserver:
        text = "The address of the homeserver, for example https://matrix.org"
        homeserver = (yield SignInStep(text=text, has_question=True)).strip().rstrip("/")
    client = RestClient("The homeserver", homeserver, key="the password")
    try:
        await _require_password_login(client)
        if not user:
            text = "The account that Sojourn uses, for example @sojourn:matrix.org; make one of its own"
            user = (yield SignInStep(text=text, has_question=True)).strip()
        password = yield SignInStep(text="Its password, which is not kept", has_question=True, is_secret=True)
        token = await _fetch_token(client, user, password)
    finally:
        await client.close()
    kept = {"homeserver": homeserver, "user": user, "access_token": token}
    yield SignInStep(text="Sojourn is signed in, on a device of its own.", settings=kept)


async def _require_password_login(client: RestClient) -> None:
    flows = read_objects(parse_body(await _exchange(client, "GET")), "flows")
    if "m.login.password" not in [one.get("type") for one in flows]:
        raise BadInput("This homeserver does not take passwords from programs.", hint=_WITH_TOKEN)


async def _fetch_token(client: RestClient, user: str, password: str) -> str:
    body = {
        "type": "m.login.password",
        "identifier": {"type": "m.id.user", "user": user},
        "password": password,
        "initial_device_display_name": "Sojourn",
    }
    token = read_text(parse_body(await _exchange(client, "POST", json=body)), "access_token")
    if not token:
        raise PlatformDown("The homeserver gave no access token.", hint=_WITH_TOKEN)
    return token


async def _exchange(client: RestClient, method: str, **options: Any) -> Any:
    try:
        return await client.request(method, _PATH, **options)
    except SendRefused as error:
        if error.kind == "forbidden":
            raise KeyRefused("The homeserver refuses the account or its password.") from error
        raise PlatformDown(str(error), hint=error.hint) from error
