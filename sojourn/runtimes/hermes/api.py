"""Client of Hermes' API server: starts, follows, answers and stops runs; translates errors."""

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
from sojourn.runtimes.hermes import PLUGIN, HermesSettings

QUICK_SECONDS = 2.0  # for requests that Hermes answers at once
REQUIRED_FEATURES = ("run_submission", "run_events_sse", "run_status")
MAX_REQUEST_BYTES = 10_000_000  # Hermes' own limit
START_HINT = "Start it with API_SERVER_ENABLED=true and an API_SERVER_KEY set: `hermes gateway run`."


class HermesBusy(RuntimeUnreachable):
    """Hermes accepted no run and may accept one later; `error` is the error to raise after the last attempt."""

    def __init__(self, error: SojournError, retry_after_seconds: float = 0.0) -> None:
        super().__init__(str(error), hint=error.hint)
        self.error, self.retry_after_seconds = error, retry_after_seconds


class HermesNotFound(RuntimeFailed):
    """HTTP 404: the run is over and forgotten, or the server is not Hermes."""


class StreamLost(RuntimeUnreachable):
    """The event stream broke or was silent for too long. The run itself may continue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HermesServer:
    """Version and model of the server."""

    version: str
    model: str


class HermesApi:
    """Connections to one Hermes."""

    def __init__(self, settings: HermesSettings) -> None:
        self.url = settings.url.rstrip("/")
        self._idle = settings.idle_seconds
        key = settings.api_key.reveal()
        if not key.isascii() or not key.isprintable():
            raise BadConfig(
                f"[plugins.{PLUGIN}] api_key contains invalid characters.", hint="Copy API_SERVER_KEY again."
            )
        try:
            address = httpx2.URL(self.url)
        except httpx2.InvalidURL:
            address = httpx2.URL()
        if address.scheme not in ("http", "https") or not address.host:
            raise BadConfig(
                f"[plugins.{PLUGIN}] url is {settings.url!r}, which is not an address.",
                hint="It has the form http://127.0.0.1:8642.",
            )
        self._http = httpx2.AsyncClient(
            base_url=address,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            trust_env=False,
            timeout=httpx2.Timeout(30.0, connect=5.0),
            limits=httpx2.Limits(max_connections=None),
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def get_server(self) -> HermesServer:
        """Returns the server's properties. RuntimeFailed when it lacks a required feature."""
        version = str((await self._request("GET", "/health", seconds=QUICK_SECONDS)).get("version") or "unknown")
        answer = await self._request("GET", "/v1/capabilities", seconds=QUICK_SECONDS)
        features = answer.get("features")
        missing = [name for name in REQUIRED_FEATURES if not (isinstance(features, dict) and features.get(name))]
        if missing:
            raise RuntimeFailed(
                f"Hermes {version} at {self.url} lacks {', '.join(missing)}.", hint="Update it to 0.13 or newer."
            )
        return HermesServer(version=version, model=str(answer.get("model") or ""))

    async def submit(self, body: Mapping[str, Json], *, scope: str) -> str:
        """Starts a run and returns its id. HermesBusy when Hermes accepts none at the moment."""
        headers = {"X-Hermes-Session-Key": scope}
        answer = await self._request("POST", "/v1/runs", body=body, headers=headers, may_retry=True)
        run = answer.get("run_id")
        if not isinstance(run, str) or not run:
            raise self._to_protocol_error("it accepted a run and returned no id")
        return run

    async def status(self, run: str, *, seconds: float = 10.0) -> Mapping[str, Json]:
        return await self._request("GET", f"/v1/runs/{run}", seconds=seconds)

    async def stop(self, run: str) -> None:
        await self._request("POST", f"/v1/runs/{run}/stop", seconds=5.0)

    async def approve(self, run: str, choice: str) -> None:
        await self._request("POST", f"/v1/runs/{run}/approval", body={"choice": choice}, seconds=5.0)

    async def events(self, run: str) -> AsyncGenerator[Mapping[str, Json], None]:
        """Yields the events of a run until Hermes closes the stream. StreamLost when it breaks before."""
        timeout = httpx2.Timeout(self._idle, connect=5.0)
        try:
            async with self._http.stream("GET", f"/v1/runs/{run}/events", timeout=timeout) as reply:
                if reply.status_code != 200:
                    raise StreamLost(f"the server has no events of the run (HTTP {reply.status_code})")
                async for line in reply.aiter_lines():
                    event = _parse_event(line)
                    if event is not None:
                        yield event
        except (httpx2.TransportError, httpx2.StreamError) as error:
            raise StreamLost(_describe(error)) from error

    async def _request(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Json] | None = None,
        seconds: float = 30.0,
        headers: Mapping[str, str] | None = None,
        may_retry: bool = False,
    ) -> dict[str, Json]:
        limit = httpx2.Timeout(seconds, connect=min(5.0, seconds))
        try:
            reply = await self._http.request(method, path, json=body, headers=dict(headers or {}), timeout=limit)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            gone = RuntimeUnreachable(f"No Hermes answers at {self.url}.", hint=START_HINT)
            raise (HermesBusy(gone) if may_retry else gone) from error
        except httpx2.TimeoutException as error:
            raise RuntimeTimeout(
                f"Hermes at {self.url} did not answer {method} {path} within {seconds:g} seconds.",
                hint="It may be overloaded or stuck; check it, or restart it.",
            ) from error
        except httpx2.TransportError as error:
            raise RuntimeUnreachable(
                f"The connection to {self.url} broke: {_describe(error)}.", hint=START_HINT
            ) from error
        if may_retry and reply.status_code in (429, 503):
            raise HermesBusy(
                self._to_error(reply.status_code, "not now"), _parse_seconds(reply.headers.get("Retry-After", ""))
            )
        return self._parse(reply, path)

    def _parse(self, reply: httpx2.Response, path: str) -> dict[str, Json]:
        try:
            answer: Any = reply.json()
        except ValueError:
            answer = None
        if reply.is_success:
            if not isinstance(answer, dict):
                raise self._to_protocol_error(f"{path} returned no JSON object")
            return answer
        why = (_parse_error_text(answer) or reply.reason_phrase or "no reason given").rstrip(".")
        raise self._to_error(reply.status_code, why)

    def _to_error(self, status: int, why: str) -> SojournError:
        if status in (401, 403):
            return KeyRefused(
                f"Hermes at {self.url} rejected the API key.",
                hint=f"Set `api_key` under [plugins.{PLUGIN}] to Hermes' API_SERVER_KEY.",
            )
        if status == 404:
            return HermesNotFound(
                f"The server at {self.url} does not know this address: {why}.",
                hint=f"Check `url` under [plugins.{PLUGIN}].",
            )
        if status == 429:
            return RateLimited(f"Hermes at {self.url} is busy: {why}.", hint="Try again in a moment.")
        if status == 503:
            return RuntimeUnreachable(
                f"Hermes at {self.url} accepts no requests now: {why}.", hint="Try again in a moment."
            )
        return RuntimeFailed(f"Hermes at {self.url} refused (HTTP {status}): {why}.", hint="Its log says more.")

    def _to_protocol_error(self, why: str) -> RuntimeFailed:
        return RuntimeFailed(
            f"The server at {self.url} does not behave like Hermes: {why}.",
            hint=f"Check `url` under [plugins.{PLUGIN}].",
        )


def _parse_event(line: str) -> Mapping[str, Json] | None:
    """Parses a line of the stream; None for comments, blank lines and invalid data."""
    if not line.startswith("data:"):
        return None
    try:
        answer = json.loads(line[5:])
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _parse_error_text(answer: Any) -> str:
    error = answer.get("error") if isinstance(answer, dict) else None
    return str(error.get("message") or "") if isinstance(error, dict) else ""


def _parse_seconds(header: str) -> float:
    try:
        return min(max(float(header), 0.0), 30.0)
    except ValueError:
        return 0.0


def _describe(error: Exception) -> str:
    return str(error) or type(error).__name__
