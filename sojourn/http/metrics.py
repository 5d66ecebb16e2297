"""`/metrics`: figures of this server and its store, as Prometheus reads them. It needs the token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from sojourn import __version__
from sojourn.http.dependencies import ActivityDep, StatsCacheDep, StoreDep, StreamsDep
from sojourn.ports.store_admin import StoreStats
from sojourn.turn_support.turn_telemetry import TURN_COUNTS

router = APIRouter(tags=["status"])
_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {}}, "description": "The figures."}}


class ServerCollector:
    """What is true of a server at one moment."""

    def __init__(self, stats: StoreStats, requests: int, streams: int) -> None:
        self._stats, self._requests, self._streams = stats, requests, streams

    def collect(self) -> Iterator[Metric]:
        yield _gauge("sojourn_info", "The version that runs.", {"version": __version__}, 1)
        yield _gauge("sojourn_sessions", "Sessions in the store.", {}, self._stats.sessions)
        messages = GaugeMetricFamily("sojourn_messages", "Messages in the store.", labels=["role"])
        for role, count in self._stats.messages_by_role.items():
            messages.add_metric([role], count)
        yield messages
        space = GaugeMetricFamily("sojourn_store_bytes", "What uses the space of the store.", labels=["part"])
        for part, size in self._stats.bytes_by.items():
            space.add_metric([part], size)
        yield space
        yield _gauge("sojourn_http_requests_in_progress", "Requests under way.", {}, self._requests)
        yield _gauge("sojourn_http_streams", "Open event streams.", {}, self._streams)
        yield from collect_turns()


def collect_turns() -> Iterator[Metric]:
    """What the turns of this process came to."""
    turns = CounterMetricFamily("sojourn_turns", "Turns that ended.", labels=["runtime", "status"])
    for (runtime, status), count in TURN_COUNTS.turns.items():
        turns.add_metric([runtime, status], count)
    yield turns
    tokens = CounterMetricFamily("sojourn_tokens", "Tokens that turns used.", labels=["runtime", "kind"])
    for (runtime, kind), count in TURN_COUNTS.tokens.items():
        tokens.add_metric([runtime, kind], count)
    yield tokens
    for name, text, found in (
        ("sojourn_turn_seconds", "How long turns took, in all.", TURN_COUNTS.seconds),
        ("sojourn_cost_usd", "What turns cost, where the price is known.", TURN_COUNTS.cost_usd),
    ):
        family = CounterMetricFamily(name, text, labels=["runtime"])
        for runtime, amount in found.items():
            family.add_metric([runtime], amount)
        yield family


def _gauge(name: str, text: str, labels: dict[str, str], value: float) -> Metric:
    family = GaugeMetricFamily(name, text, labels=list(labels))
    family.add_metric(list(labels.values()), value)
    return family


@router.get("/metrics", summary="Figures for Prometheus", response_class=Response, responses=_TEXT)
async def metrics(store: StoreDep, cache: StatsCacheDep, activity: ActivityDep, streams: StreamsDep) -> Response:
    """Figures of the store may be one change behind; counters are of this process, since its start."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ServerCollector(await cache.read(store), activity.requests, len(streams)))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
