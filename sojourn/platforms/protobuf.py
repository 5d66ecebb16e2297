"""Protocol Buffers wire format: reads and writes the fields of a message, without a schema."""

from __future__ import annotations

from collections.abc import Iterable

Field = tuple[int, int | bytes]  # number, and value: a varint, or the bytes of text, bytes or a message

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5  # wire types
_MAX_VARINT_BYTES = 10
_UINT64 = 1 << 64  # values


def write_fields(fields: Iterable[Field]) -> bytes:
    """Encodes fields in the given order."""
    encoded = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            encoded += _encode_varint(number << 3 | _VARINT) + _encode_varint(value % _UINT64)
        else:
            encoded += _encode_varint(number << 3 | _LENGTH) + _encode_varint(len(value)) + value
    return bytes(encoded)


def read_fields(data: bytes) -> list[Field]:
    """Decodes the fields of a message in order; values of fixed width are skipped. ValueError."""
    fields, at = list[Field](), 0
    while at < len(data):
        tag, at = _decode_varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise ValueError("a field has the number 0")
        if wire_type == _VARINT:
            value, at = _decode_varint(data, at)
            fields.append((number, value))
        elif wire_type == _LENGTH:
            length, at = _decode_varint(data, at)
            if length > len(data) - at:
                raise ValueError("a field is longer than its message")
            fields.append((number, data[at : at + length]))
            at += length
        elif wire_type in (_FIXED64, _FIXED32):
            at += 8 if wire_type == _FIXED64 else 4
            if at > len(data):
                raise ValueError("a field is longer than its message")
        else:
            raise ValueError(f"wire type {wire_type} is unknown")
    return fields


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _decode_varint(data: bytes, at: int) -> tuple[int, int]:
    """The value, and the position behind it."""
    value = 0
    for n in range(_MAX_VARINT_BYTES):
        if at + n >= len(data):
            raise ValueError("a number is cut off")
        byte = data[at + n]
        value |= (byte & 0x7F) << (7 * n)
        if byte < 0x80:
            if value >= _UINT64:
                break
            return value, at + n + 1
    raise ValueError("a number is too large")
