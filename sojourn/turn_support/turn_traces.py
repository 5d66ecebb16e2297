"""Traces of turns over OpenTelemetry (OTLP over HTTP): a span for each turn, sent by a thread beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from opentelemetry import context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode, Tracer, set_span_in_context

from sojourn import __version__
from sojourn.core.messages import Json
from sojourn.turn_support.turn_telemetry import EndTurn

_EXPORT_SECONDS = 5.0
_DELAY_MILLISECONDS = 1000.0  # before spans are sent, so that several go together
_NAMES = {  # as the conventions for generative AI call them
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cost_usd": "sojourn.cost_usd",
}


@cache
def build_tracer(endpoint: str) -> Tracer:
    """The tracer that sends to a collector, which takes traces at `<endpoint>/v1/traces`."""
    provider = TracerProvider(resource=Resource.create({"service.name": "sojourn", "service.version": __version__}))
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=_EXPORT_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=_DELAY_MILLISECONDS))
    return provider.get_tracer("sojourn", __version__)


def begin_span(endpoint: str, runtime: str, model: str) -> EndTurn:
    """Starts the span of a turn and makes it the current one of this task. Returns what ends it."""
    span = build_tracer(endpoint).start_span(
        "turn", attributes={"sojourn.runtime": runtime, "gen_ai.request.model": model}
    )
    context.attach(set_span_in_context(span))  # until the task of the turn ends

    def end(status: str, usage: Mapping[str, Json]) -> None:
        span.set_attribute("sojourn.status", status)
        for name, attribute in _NAMES.items():
            value = usage.get(name)
            if isinstance(value, (int, float)):
                span.set_attribute(attribute, value)
        span.set_status(Status(StatusCode.OK if status == "completed" else StatusCode.ERROR))
        span.end()

    return end
