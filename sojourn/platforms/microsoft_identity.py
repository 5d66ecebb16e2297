"""Microsoft's identity platform: tokens for our requests, and the check of tokens that Microsoft sends us."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import jwt

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused
from sojourn.core.settings import Secret
from sojourn.platforms.expiring_token import ExpiringToken, TokenExpired
from sojourn.platforms.json_values import parse_body, read_objects, read_text
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.result_codes import read_code

_ALGORITHMS = ["RS256"]  # no others: a token must not choose how it is checked
_LEEWAY_SECONDS = 300.0
_KEYS_SECONDS, _RETRY_SECONDS = 86_400.0, 3600.0  # for which keys are kept, and between looks for an unknown one
_MAX_TOKEN_CHARS = 16_000
_SECRET_ERRORS = ("invalid_client", "unauthorized_client", "invalid_request", "invalid_grant")


class MicrosoftClient:
    """Requests in the name of an application. `key` names the setting to correct when its secret is refused."""

    def __init__(self, label: str, url: str, *, login_url: str, client_id: str, secret: Secret, scope: str, key: str):
        self._label, self._client_id, self._secret, self._scope, self._key = label, client_id, secret, scope, key
        self._login_url = login_url
        self._http, self._login = RestClient(label, url, key=key), RestClient(label, login_url, key=key)
        self.token = ExpiringToken(self._fetch_token, to_key_refused=self._http.to_key_refused)

    async def _fetch_token(self) -> tuple[str, float]:
        form = {
            "grant_type": "client_credentials",
            "client_id": self._client_id,
            "client_secret": self._secret.reveal(),
            "scope": self._scope,
        }
        reply = await self._login.exchange("POST", self._login_url, data=form)
        page = parse_body(reply)
        if reply.is_success and (token := read_text(page, "access_token")):
            return token, float(read_code(page, "expires_in") or 0)
        if reply.status_code == 401 or read_text(page, "error") in _SECRET_ERRORS:
            raise KeyRefused(f"Microsoft refuses the application of {self._label}.", hint=f"Correct {self._key}.")
        raise PlatformDown(f"Microsoft gives no token: {reply.status_code}.")

    async def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Makes a request; an answer without a JSON object is empty. SendRefused, KeyRefused, PlatformDown."""

        async def request(token: str) -> dict[str, Any]:
            headers = {"Authorization": f"Bearer {token}"}
            reply = await self._http.exchange(method, path, json=body, headers=headers)
            if reply.status_code == 401:
                raise TokenExpired
            if not reply.is_success:
                error = self._http.to_error(reply)
                if reply.status_code == 412 and isinstance(error, SendRefused):  # Teams: try again
                    raise SendRefused(str(error), kind="transient") from error
                raise error
            page = parse_body(reply)
            return page if isinstance(page, dict) else {}

        return await self.token.use(request)

    async def close(self) -> None:
        await self._http.close()
        await self._login.close()


class TokenRefused(Exception):
    """A token that Microsoft did not make for us. The text says why, and never quotes it."""


class TokenVerifier:
    """Checks tokens with the keys that an OpenID document leads to."""

    def __init__(self, configuration_url: str) -> None:
        self._url = configuration_url
        self._keys: dict[str, tuple[jwt.PyJWK, Mapping[str, Any]]] = {}
        self._fetched_at = self._tried_at = float("-inf")
        self._lock = asyncio.Lock()

    async def verify(self, token: str, *, audience: str) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """The claims of a token for this audience whose signature and time are good, and the key it was signed with.
        TokenRefused, PlatformDown. The issuer is left to the caller."""
        try:
            id = jwt.get_unverified_header(token[:_MAX_TOKEN_CHARS]).get("kid")
            key, about = await self._find_key(id if isinstance(id, str) else "")
            options: Any = {"require": ["exp", "iss", "aud"]}
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=_ALGORITHMS, audience=audience, leeway=_LEEWAY_SECONDS, options=options
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise TokenRefused(type(error).__name__) from error
        return claims, about

    async def _find_key(self, id: str) -> tuple[jwt.PyJWK, Mapping[str, Any]]:
        async with self._lock:
            now = time.monotonic()
            is_old = now - self._fetched_at > _KEYS_SECONDS
            if (is_old or id not in self._keys) and (now - self._tried_at > _RETRY_SECONDS or not self._keys):
                self._tried_at = now
                self._keys, self._fetched_at = await self._fetch_keys(), now
        if id not in self._keys:
            raise TokenRefused("its key is unknown")
        return self._keys[id]

    async def _fetch_keys(self) -> dict[str, tuple[jwt.PyJWK, Mapping[str, Any]]]:
        client = RestClient("Microsoft", self._url, key="")
        try:
            keys_url = read_text(parse_body(await client.request("GET", self._url)), "jwks_uri")
            if urlsplit(keys_url)[:2] != urlsplit(self._url)[:2]:
                raise PlatformDown("Microsoft's keys are said to be on another server.")
            pages = read_objects(parse_body(await client.request("GET", keys_url)), "keys")
        except SendRefused as error:
            raise PlatformDown(str(error)) from error
        finally:
            await client.close()
        usable = [page for page in pages if page.get("kty") == "RSA" and read_text(page, "kid")]
        return {page["kid"]: (jwt.PyJWK.from_dict(page, algorithm="RS256"), page) for page in usable}
