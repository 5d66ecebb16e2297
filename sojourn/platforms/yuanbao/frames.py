"""Frames of Yuanbao's WebSocket: Protocol Buffers, a head and what it carries."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sojourn.platforms.protobuf import MessageFields, encode_values

REQUEST, RESPONSE, PUSH, ACKNOWLEDGEMENT = range(4)  # types of commands


@dataclass(frozen=True, slots=True, kw_only=True)
class YuanbaoFrame:
    """One frame."""

    type: int
    command: str
    sequence: int = 0
    id: str = ""
    module: str = ""
    needs_acknowledgement: bool = False
    status: int = 0
    data: bytes = b""

    def encode(self) -> bytes:
        needs, texts = int(self.needs_acknowledgement), {2: self.command, 4: self.id, 5: self.module}
        head = encode_values({**texts, 1: self.type, 3: self.sequence, 6: needs, 10: self.status})
        return encode_values({1: [head], 2: self.data})

    def to_acknowledgement(self, sequence: int) -> YuanbaoFrame:
        return replace(self, type=ACKNOWLEDGEMENT, sequence=sequence, data=b"")


def decode_frame(data: bytes) -> YuanbaoFrame:
    """Reads a frame; unknown fields are skipped. ValueError."""
    frame = MessageFields(data)
    head = MessageFields(frame.get_bytes(1))
    return YuanbaoFrame(
        type=head.get_number(1),
        command=head.get_text(2),
        sequence=head.get_number(3),
        id=head.get_text(4),
        module=head.get_text(5),
        needs_acknowledgement=bool(head.get_number(6)),
        status=head.get_number(10),
        data=frame.get_bytes(2),
    )
