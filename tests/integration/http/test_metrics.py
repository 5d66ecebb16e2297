"""What a server tells those who watch it: figures for Prometheus, traces for a collector. Never what was said."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from sojourn.turn_support import turn_telemetry
from sojourn.turn_support.turn_telemetry import TURN_COUNTS, begin_turn

WORDS = "a word that nobody else says"


async def read_metrics(client) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert WORDS not in answer.text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


async def chat(client) -> None:
    await client.post("/api/chat/stream", json={"message": WORDS, "runtime": "scripted", "model": "scripted-1"})


async def test_turns_sessions_and_the_store_are_counted(client, kit):
    ended = ("sojourn_turns_total", (("runtime", "scripted"), ("status", "completed")))
    before = (await read_metrics(client)).get(ended, 0.0)
    await chat(client)
    await chat(client)
    after = await read_metrics(client)
    assert after[ended] == before + 2
    assert after["sojourn_turn_seconds_total", (("runtime", "scripted"),)] > 0
    while (await read_metrics(client))["sojourn_sessions", ()] != 2:  # the store is counted behind
        await asyncio.sleep(0.05)
    assert (await read_metrics(client))["sojourn_messages", (("role", "user"),)] == 2
    assert any(name == "sojourn_store_bytes" and value > 0 for (name, _), value in after.items())
    assert after["process_resident_memory_bytes", ()] > 1_000_000


async def test_strangers_are_told_nothing(app, kit):
    import httpx

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as stranger:
        assert (await stranger.get("/metrics")).status_code == 401


def test_what_a_runtime_says_it_used_is_counted_only_if_it_is_a_number():
    turns = turn_telemetry.TurnCounts()
    turns.add("x", "failed", {"seconds": -1, "input_tokens": "many", "output_tokens": float("nan"), "cost_usd": 0.5})
    turns.add("x", "failed", {"input_tokens": 3})
    assert (turns.turns["x", "failed"], turns.seconds["x"], turns.cost_usd["x"]) == (2, 0, 0.5)
    assert (turns.tokens["x", "input"], turns.tokens["x", "output"]) == (3, 0)


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """A collector's address, and the bodies that it got."""
    got: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append(body if self.path == "/v1/traces" else b"")
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", got
        server.shutdown()
        thread.join()


async def test_a_turn_is_traced_if_a_collector_is_named(client, kit, collector):
    address, got = collector
    await chat(client)
    assert got == []  # nothing is sent anywhere unasked
    kit.settings = replace(kit.settings, values={**kit.settings.values, "telemetry.endpoint": address})
    end = begin_turn(kit.settings, "native", "scripted-1")
    end("completed", {"input_tokens": 12, "cost_usd": 0.25})
    async with asyncio.timeout(10):
        while not got:
            await asyncio.sleep(0.05)
    [resource] = ExportTraceServiceRequest.FromString(got[0]).resource_spans
    [span] = resource.scope_spans[0].spans
    told = {one.key: one.value for one in span.attributes}
    assert (span.name, span.status.code) == ("turn", trace.StatusCode.OK.value)
    assert told["gen_ai.request.model"].string_value == "scripted-1"
    assert told["gen_ai.usage.input_tokens"].int_value == 12
    assert told["sojourn.cost_usd"].double_value == 0.25


def test_without_its_package_turns_go_on_and_one_line_says_so(kit, monkeypatch, caplog):
    import sys

    monkeypatch.delitem(sys.modules, "sojourn.turn_support.turn_traces", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    settings = replace(kit.settings, values={**kit.settings.values, "telemetry.endpoint": "http://127.0.0.1:9"})
    before = TURN_COUNTS.turns["native", "failed"]
    for _ in range(2):
        begin_turn(settings, "native", "")("failed", {})
    assert TURN_COUNTS.turns["native", "failed"] == before + 2
    assert [one.getMessage() for one in caplog.records if "sojourn plugins install telemetry" in one.getMessage()]
    assert len(caplog.records) == 1
