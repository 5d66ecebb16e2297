"""Microsoft's identity platform for tests: tokens for applications, an OpenID document, keys, and signed tokens."""

import time
from itertools import count
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa

TENANT, CLIENT, CLIENT_SECRET = "11111111-aaaa", "22222222-bbbb", "s3cret-24494897"
KEY_ID = "key-1"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def build_jwk(key: rsa.RSAPrivateKey = KEY, id: str = KEY_ID, **more: Any) -> dict[str, Any]:
    return {**jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": id, "use": "sig", **more}


def sign_token(claims: dict[str, Any], key: Any = KEY, id: str | None = KEY_ID, algorithm: str = "RS256") -> str:
    times = {"exp": int(time.time()) + 3600, "nbf": int(time.time()) - 60}
    chosen = {name: value for name, value in (times | claims).items() if value is not None}
    return jwt.encode(chosen, key, algorithm=algorithm, headers={"kid": id} if id else None)


class MicrosoftIdentity:
    """The routes that both networks of Microsoft need. `url` is where they are served."""

    def __init__(self) -> None:
        self.url, self.dead = "", False
        self.tokens: set[str] = set()
        self.keys: list[dict[str, Any]] = [build_jwk(endorsements=["msteams"])]
        self.keys_url = ""
        self.key_fetches = 0
        self._numbers = count(1)

    def identity_routes(self) -> list[web.RouteDef]:
        return [
            web.post(f"/{TENANT}/oauth2/v2.0/token", self._token),
            web.get("/{any:.*}/.well-known/{document:openid-?configuration}", self._configuration),
            web.get("/keys", self._keys),
        ]

    async def _token(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        assert form["grant_type"] == "client_credentials"
        assert str(form["scope"]).endswith("/.default")
        if (form["client_id"], form["client_secret"]) != (CLIENT, CLIENT_SECRET):
            return web.json_response({"error": "invalid_client", "error_description": "AADSTS7000215"}, status=401)
        token = f"token{next(self._numbers)}"
        self.tokens.add(token)
        return web.json_response({"token_type": "Bearer", "expires_in": 3599, "access_token": token})

    async def _configuration(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"issuer": self.url, "jwks_uri": self.keys_url or f"{self.url}/keys"})

    async def _keys(self, request: web.Request) -> web.StreamResponse:
        self.key_fetches += 1
        return web.json_response({"keys": self.keys})

    def is_known(self, request: web.Request) -> bool:
        return request.headers.get("Authorization", "").removeprefix("Bearer ") in self.tokens
