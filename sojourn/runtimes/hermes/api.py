"""Hermes' API server, as far as a run needs it. What goes wrong on the line is said in our words here."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from sojourn.core.errors import (
    BadConfig,
    KeyRefused,
    RateLimited,
    RuntimeFailed,
    RuntimeTimeout,
    RuntimeUnreachable,
    SojournError,
)
from sojourn.core.messages import Json
from sojourn.runtimes.hermes.settings import PLUGIN, HermesSettings

QUICK = 2.0  # what answers at once, or is not there
NEEDED = ("run_submission", "run_events_sse", "run_status")
MOST_BYTES = 10_000_000  # what Hermes takes in one request
START_IT = "Start it with API_SERVER_ENABLED=true and an API_SERVER_KEY set: `hermes gateway run`."


class HermesBusy(Exception):
    """Nothing was accepted, and a moment later it may be: `error` is what it comes to when it never is."""

    def __init__(self, error: SojournError, seconds: float = 0.0) -> None:
        super().__init__(str(error))
        self.error, self.seconds = error, seconds  # `seconds`: what Hermes asks us to wait


class HermesNotFound(RuntimeFailed):
    """Not there (404): the run is over and forgotten, or it is no Hermes at all."""


class StreamLost(Exception):
    """The line broke, or nothing came for too long. The run itself may well go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HermesServer:
    """What answers there."""

    version: str
    model: str
    features: frozenset[str]


class HermesApi:
    """One address and one key. Made once, closed once."""

    def __init__(self, settings: HermesSettings) -> None:
        self.url = settings.url.rstrip("/")
        self._idle = settings.idle_seconds
        key = settings.api_key.reveal()
        if not key.isascii() or not key.isprintable():
            raise BadConfig(f"[plugins.{PLUGIN}] api_key has characters no key has.", hint="Copy API_SERVER_KEY anew.")
        try:
            address = httpx2.URL(self.url)
        except httpx2.InvalidURL as error:
            raise _no_address(settings.url) from error
        if address.scheme not in ("http", "https") or not address.host:
            raise _no_address(settings.url)
        self._http = httpx2.AsyncClient(
            base_url=address,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            trust_env=False,
            timeout=httpx2.Timeout(30.0, connect=5.0),
            limits=httpx2.Limits(max_connections=None),
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def health(self) -> str:
        """The version of the Hermes that answers."""
        return str((await self._ask("GET", "/health", seconds=QUICK)).get("version") or "unknown")

    async def server(self) -> HermesServer:
        """Who answers and what it can do; an error when it cannot run what we ask."""
        version = await self.health()
        told = await self._ask("GET", "/v1/capabilities", seconds=QUICK)
        features = told.get("features")
        able = frozenset(name for name, yes in features.items() if yes) if isinstance(features, dict) else frozenset()
        missing = [name for name in NEEDED if name not in able]
        if missing:
            raise RuntimeFailed(
                f"Hermes {version} at {self.url} lacks {', '.join(missing)}.", hint="Update it to 0.13 or newer."
            )
        return HermesServer(version=version, model=str(told.get("model") or ""), features=able)

    async def submit(self, body: Mapping[str, Json], *, scope: str) -> str:
        """Starts a run and gives its id. HermesBusy, when Hermes wants us to come back later."""
        told = await self._ask("POST", "/v1/runs", body=body, headers={"X-Hermes-Session-Key": scope}, may_wait=True)
        run = told.get("run_id")
        if not isinstance(run, str) or not run:
            raise self._not_hermes("it accepted a run without naming it")
        return run

    async def status(self, run: str, *, seconds: float = 10.0) -> Mapping[str, Json]:
        return await self._ask("GET", f"/v1/runs/{run}", seconds=seconds)

    async def stop(self, run: str) -> None:
        await self._ask("POST", f"/v1/runs/{run}/stop", seconds=5.0)

    async def approve(self, run: str, choice: str) -> None:
        await self._ask("POST", f"/v1/runs/{run}/approval", body={"choice": choice}, seconds=5.0)

    async def events(self, run: str) -> AsyncGenerator[Mapping[str, Json], None]:
        """What happens in a run, until Hermes closes the stream. StreamLost, when the line breaks before."""
        patience = httpx2.Timeout(self._idle, connect=5.0)
        try:
            async with self._http.stream("GET", f"/v1/runs/{run}/events", timeout=patience) as reply:
                if reply.status_code != 200:
                    raise StreamLost(f"the events are not there (HTTP {reply.status_code})")
                async for line in reply.aiter_lines():
                    event = _event(line)
                    if event is not None:
                        yield event
        except (httpx2.TransportError, httpx2.StreamError) as error:
            raise StreamLost(_why(error)) from error

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Json] | None = None,
        seconds: float = 30.0,
        headers: Mapping[str, str] | None = None,
        may_wait: bool = False,
    ) -> dict[str, Json]:
        limit = httpx2.Timeout(seconds, connect=min(5.0, seconds))
        try:
            reply = await self._http.request(method, path, json=body, headers=dict(headers or {}), timeout=limit)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            gone = RuntimeUnreachable(f"No Hermes answers at {self.url}.", hint=START_IT)
            raise (HermesBusy(gone) if may_wait else gone) from error
        except httpx2.TimeoutException as error:
            raise RuntimeTimeout(
                f"Hermes at {self.url} did not answer {method} {path} within {seconds:g} seconds.",
                hint="It may be overloaded or stuck; look at it, or restart it.",
            ) from error
        except httpx2.TransportError as error:
            raise RuntimeUnreachable(f"The line to {self.url} broke: {_why(error)}.", hint=START_IT) from error
        if may_wait and reply.status_code in (429, 503):
            raise HermesBusy(
                self._refused(reply.status_code, "not now"), _seconds(reply.headers.get("Retry-After", ""))
            )
        return self._read(reply, path)

    def _read(self, reply: httpx2.Response, path: str) -> dict[str, Json]:
        try:
            told: Any = reply.json()
        except ValueError:
            told = None
        if reply.is_success:
            if not isinstance(told, dict):
                raise self._not_hermes(f"{path} gave no JSON object")
            return told
        raise self._refused(reply.status_code, _error_text(told) or reply.reason_phrase or "no reason given")

    def _refused(self, status: int, why: str) -> SojournError:
        if status in (401, 403):
            return KeyRefused(
                f"Hermes at {self.url} does not take our key.",
                hint=f"Set `api_key` under [plugins.{PLUGIN}] to Hermes' API_SERVER_KEY.",
            )
        if status == 404:
            return HermesNotFound(
                f"What answers at {self.url} does not know what Hermes knows: {why}.",
                hint=f"Check `url` under [plugins.{PLUGIN}].",
            )
        if status == 429:
            return RateLimited(f"Hermes at {self.url} has too much to do: {why}.", hint="Try again in a moment.")
        if status == 503:
            return RuntimeUnreachable(f"Hermes at {self.url} takes nothing now: {why}.", hint="Try again in a moment.")
        return RuntimeFailed(f"Hermes at {self.url} refused (HTTP {status}): {why}.", hint="Its log says more.")

    def _not_hermes(self, why: str) -> RuntimeFailed:
        return RuntimeFailed(
            f"What answers at {self.url} does not speak as Hermes does: {why}.",
            hint=f"Check `url` under [plugins.{PLUGIN}].",
        )


def _no_address(url: str) -> BadConfig:
    return BadConfig(
        f"[plugins.{PLUGIN}] url is {url!r}, which is not an address.", hint="It has the form http://127.0.0.1:8642."
    )


def _event(line: str) -> Mapping[str, Json] | None:
    """The event on a line of the stream; comments, blank lines and what cannot be read are none."""
    if not line.startswith("data:"):
        return None
    try:
        told = json.loads(line[5:])
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _error_text(told: Any) -> str:
    error = told.get("error") if isinstance(told, dict) else None
    return str(error.get("message") or "") if isinstance(error, dict) else ""


def _seconds(header: str) -> float:
    try:
        return min(max(float(header), 0.0), 30.0)
    except ValueError:
        return 0.0


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__
