"""Hostile requests to a network's receiver: made from a declaration of how that network signs and what it sends."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from tests.servers.request_sender import Request

MARK = "hostile-words-1618"  # stands in every message, so that it can be looked for
WRONG_VALUES: tuple[Any, ...] = (None, 7, True, [], {}, "", [[]], {"a": 1})
Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverCase:
    """One network.

    signature: what proves who sends: a header, `?` and a field of the query, `/` for the end of the path, or `.` and a
        path in the document
    document: an ordinary message of a person, with this text; a new one each time
    encode: the body of a document
    sign: a request as the network makes it, for any bytes and any secret
    secrets: what must never be logged; the first is what `sign` uses
    vital: the fields without which there is no message, as `entry.0.id`; empty where any signed body is a message
    more: further requests that must bring nothing
    """

    name: str
    rig: Callable[[], AbstractAsyncContextManager[Any]]
    signature: str
    document: Callable[[Any, str], Document]
    sign: Callable[[Any, bytes, str], Request]
    secrets: tuple[str, ...]
    vital: tuple[str, ...] = ()
    encode: Callable[[Document], bytes] = lambda document: json.dumps(document).encode()
    max_body_bytes: int = 1_000_000
    more: Callable[[Any, bytes], Mapping[str, Request]] = field(default=lambda _harness, _body: {})
    takes_any_body: bool = False  # what is signed is a message, whatever it is
    covers_body: bool = True  # else the proof says who sends, and not what

    def build(self, harness: Any, text: str = MARK) -> Request:
        return self.sign(harness, self.encode(self.document(harness, text)), self.secrets[0])


@dataclass(frozen=True, slots=True)
class HostileInput:
    name: str
    method: str
    request: Request


def list_inputs(case: ReceiverCase, harness: Any) -> Iterator[HostileInput]:
    """At least thirty of them, for any network."""
    for name, request in _forge_signatures(case, harness):
        yield HostileInput(name, "POST", request)
    for name, method, request in _bend_requests(case, harness):
        yield HostileInput(name, method, request)
    if not case.takes_any_body or not case.covers_body:
        for name, body in BODIES.items():
            yield HostileInput(f"body: {name}", "POST", case.sign(harness, body, case.secrets[0]))
    for name, document in _mutate_documents(case, harness):
        yield HostileInput(name, "POST", case.sign(harness, case.encode(document), case.secrets[0]))
    for name, request in case.more(harness, case.build(harness)[1]).items():
        yield HostileInput(name, "POST", request)


BODIES = {
    "empty": b"",
    "a list": b"[]",
    "a number": b"7",
    "null": b"null",
    "a string": b'"words"',
    "an empty object": b"{}",
    "half of an object": b'{"entry": [{"id": "1"',
    "no text at all": b"\xff\xfe\x00\x80",
    "no number": b'{"entry": NaN}',
    "deep": b'{"entry":' + b"[" * 60 + b"]" * 60 + b"}",
    "very deep": b'{"entry":' + b"[" * 90_000,
    "a long number": b'{"entry": ' + b"9" * 6000 + b"}",
    "an entity": b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><xml><Encrypt>&a;</Encrypt></xml>',
    "a form": b"entry=1&entry=2&%ff=%00",
    "NUL": b"\x00" * 100,
}


def _forge_signatures(case: ReceiverCase, harness: Any) -> Iterator[tuple[str, Request]]:
    good = case.build(harness)
    value = read_signature(case, good)
    last = "0" if value[-2:-1] != "0" else "1"
    for name, given in {
        "no signature": None,
        "an empty signature": "",
        "half a signature": value[: len(value) // 2],
        "a longer signature": f"{value}0",
        "a changed signature": value[:-2] + last + value[-1:],
        "a turned signature": value[::-1],
        "another case": value.swapcase(),
        "zeros": "0" * 64,
        "a long signature": "a" * 10_000,
        "letters beyond ASCII": "sïgnature",
        "a list of signatures": f"{value}0, {value}1",
    }.items():
        yield name, with_signature(case, good, given)
    body = good[1]
    yield "another secret", case.sign(harness, body, "another-secret-of-16")
    yield "an empty secret", case.sign(harness, body, "")
    if not case.covers_body:
        return
    path, _, headers = good
    yield "another body", (path, case.encode(case.document(harness, f"{MARK} changed")), headers)
    yield "a longer body", (path, body + b" ", headers)
    yield "a shorter body", (path, body[:-1], headers)


def _bend_requests(case: ReceiverCase, harness: Any) -> Iterator[tuple[str, str, Request]]:
    path, body, headers = case.build(harness)
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"):
        yield f"method {method}", method, (path, body if method != "GET" else b"", headers)
    where, _, query = path.partition("?")
    end = f"?{query}" if query else ""
    for name, other in {
        "a path below": f"{where}/deeper{end}",
        "a doubled slash": f"/{where}{end}",
        "capital letters": f"{where.upper()}{end}",
        "an encoded path": f"/%2e%2e{where}{end}",
        "the path of nobody": f"/nobody{end}",
        "the root": f"/{end}",
    }.items():
        yield name, "POST", (other, body, headers)
    yield "a body that is too long", "POST", (path, b"x" * (case.max_body_bytes + 1), headers)
    many = {f"X-Header-{n}": "x" for n in range(150)}
    yield "many headers", "POST", (path, body, {**headers, **many})


def _mutate_documents(case: ReceiverCase, harness: Any) -> Iterator[tuple[str, Document]]:
    """Takes every vital field away, and gives it values of other types."""
    for path in case.vital:
        missing = case.document(harness, MARK)
        parent, key = _find(missing, path)
        del parent[key]
        yield f"without {path}", missing
        for value in WRONG_VALUES:
            changed = copy.deepcopy(case.document(harness, MARK))
            parent, key = _find(changed, path)
            parent[key] = value
            yield f"{path} = {value!r}", changed


def _find(document: Any, path: str) -> tuple[Any, Any]:
    *parts, last = [int(one) if one.isdecimal() else one for one in path.split(".")]
    for part in parts:
        document = document[part]
    return document, last


def read_signature(case: ReceiverCase, request: Request) -> str:
    path, body, headers = request
    if case.signature.startswith("."):
        parent, key = _find(json.loads(body), case.signature[1:])
        return str(parent[key])
    if case.signature == "/":
        return path.rpartition("/")[2]
    if not case.signature.startswith("?"):
        return dict(headers)[case.signature]
    fields = dict(one.partition("=")[::2] for one in path.partition("?")[2].split("&"))
    return fields[case.signature[1:]]


def with_signature(case: ReceiverCase, request: Request, value: str | None) -> Request:
    """The same request with another signature, or with none."""
    path, body, headers = request
    if case.signature.startswith("."):
        document = json.loads(body)
        parent, key = _find(document, case.signature[1:])
        parent[key] = value
        return path, json.dumps(document).encode(), headers
    if case.signature == "/":
        where = path.rpartition("/")[0]
        return where if value is None else f"{where}/{quote(value)}", body, headers
    if not case.signature.startswith("?"):
        others = {name: one for name, one in headers.items() if name != case.signature}
        return path, body, others if value is None else {**others, case.signature: value}
    where, _, query = path.partition("?")
    kept = [one for one in query.split("&") if not one.startswith(f"{case.signature[1:]}=")]
    return f"{where}?{'&'.join(kept if value is None else [*kept, f'{case.signature[1:]}={value}'])}", body, headers
