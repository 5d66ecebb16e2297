"""Answers of a homeserver to a question for keys, as another server may make them up about its people."""

import json
from collections.abc import Iterator
from typing import Any

DEVICE = {"user_id": "@eve:x", "device_id": "E", "algorithms": [], "keys": {}, "signatures": {}}
ODD: tuple[Any, ...] = ("x", [], {"a": 7}, {"@eve:x": []})
HOSTILE_DEVICES: tuple[Any, ...] = (  # of people on a server that says what it likes
    *("x", 7, None, [], {}),
    *(DEVICE | {name: value} for name in DEVICE for value in (7, [7], {"@eve:x": 7}, None)),
    DEVICE | {"unsigned": "x"},
    DEVICE | {"keys": {"ed25519:E": "!", "curve25519:E": "!"}, "signatures": {"@eve:x": {"ed25519:E": "!"}}},
    DEVICE | {"keys": {"ed25519:E": "A" * 43, "curve25519:E": "A"}, "signatures": {"@eve:x": {"ed25519:E": "A" * 86}}},
)
HOSTILE_IDENTITIES: tuple[Any, ...] = (
    *("x", 7, [], {}),
    *({"user_id": "@eve:x", "usage": usage, "keys": {"ed25519:a": "A"}} for usage in (7, "master", None)),
    *({"user_id": "@eve:x", "usage": ["master", "self_signing"], "keys": keys} for keys in ODD),
    *({"user_id": "@eve:x", "usage": ["master"], "keys": {"a": "A"}, "signatures": one} for one in ODD),
)


def build_hostile_answers() -> Iterator[bytes]:
    """Answers to key queries, each about many people."""
    devices = {f"@eve{n}:x": {"E": one} for n, one in enumerate(HOSTILE_DEVICES)}
    identities = {f"@eve{n}:x": one for n, one in enumerate(HOSTILE_IDENTITIES)}
    nobody: dict[str, Any] = {user: {} for user in identities}
    for answer in (
        {"device_keys": devices | {"@eve:x": "x"}, "master_keys": [], "self_signing_keys": "x"},
        *({"device_keys": {"@eve:x": {"E": one}}} for one in HOSTILE_DEVICES[-3:]),
        {"device_keys": nobody, "master_keys": identities, "self_signing_keys": identities},
        {"device_keys": nobody, "master_keys": [1], "self_signing_keys": "x"},
    ):
        body = json.dumps(answer)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        yield f"{head}\r\nConnection: close\r\n\r\n{body}".encode()
