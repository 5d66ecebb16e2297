"""Frames of Feishu's long connection: Protocol Buffers with headers and a JSON payload, perhaps in several parts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sojourn.platforms.protobuf import Field, MessageFields, encode_values, write_fields

CONTROL, DATA = 0, 1  # methods
_SEQUENCE, _LOG, _SERVICE, _METHOD, _HEADER, _ENCODING, _TYPE, _PAYLOAD, _NEW_LOG = range(1, 10)  # field numbers
_MAX_PARTS, _MAX_MESSAGES = 256, 64  # kept at a time
_PART_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FeishuFrame:
    """One frame."""

    method: int
    service: int = 0
    sequence: int = 0
    log: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    payload: bytes = b""
    encoding: str = ""
    type: str = ""
    new_log: str = ""

    def encode(self) -> bytes:
        fields: list[Field] = [*enumerate((self.sequence, self.log, self.service, self.method), start=_SEQUENCE)]
        fields += [(_HEADER, write_fields([(1, k.encode()), (2, v.encode())])) for k, v in self.headers.items()]
        texts: dict[int, str | bytes] = {_ENCODING: self.encoding, _TYPE: self.type, _PAYLOAD: self.payload}
        return write_fields(fields) + encode_values({**texts, _NEW_LOG: self.new_log})

    def to_reply(self, payload: bytes, milliseconds: int) -> FeishuFrame:
        """The acknowledgement: the same frame, with the time it took and another payload."""
        return replace(self, payload=payload, headers={**self.headers, "biz_rt": str(milliseconds)})


def build_ping(service: int) -> FeishuFrame:
    return FeishuFrame(method=CONTROL, service=service, headers={"type": "ping"})


def decode_frame(data: bytes) -> FeishuFrame:
    """Reads a frame; unknown fields are skipped. ValueError."""
    frame = MessageFields(data)
    return FeishuFrame(
        method=frame.get_number(_METHOD) if frame.has(_METHOD) else -1,
        service=frame.get_number(_SERVICE),
        sequence=frame.get_number(_SEQUENCE),
        log=frame.get_number(_LOG) % (1 << 64),  # unsigned
        headers={one.get_text(1): one.get_text(2) for one in frame.list_messages(_HEADER)},
        payload=frame.get_bytes(_PAYLOAD),
        encoding=frame.get_text(_ENCODING),
        type=frame.get_text(_TYPE),
        new_log=frame.get_text(_NEW_LOG),
    )


class FrameParts:
    """Joins payloads that come in several frames."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[float, dict[int, bytes]]] = {}

    def add(self, frame: FeishuFrame) -> bytes | None:
        """The whole payload, when this frame completes it."""
        total, at = _to_number(frame.headers.get("sum")), _to_number(frame.headers.get("seq"))
        id, now = frame.headers.get("message_id", ""), time.monotonic()
        if total <= 1:
            return frame.payload
        if not id or total > _MAX_PARTS or at >= total:
            return None
        recent = [(key, one) for key, one in self._waiting.items() if now - one[0] < _PART_SECONDS]
        self._waiting = dict(recent[-_MAX_MESSAGES:])
        _, parts = self._waiting.setdefault(id, (now, {}))
        parts[at] = frame.payload
        if len(parts) < total:
            return None
        del self._waiting[id]
        return b"".join(parts[n] for n in sorted(parts))


def _to_number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else 0
