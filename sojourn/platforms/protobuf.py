"""Protocol Buffers wire format: reads and writes the fields of a message, without a schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Field = tuple[int, int | bytes]  # number, and value: a varint, or the bytes of text, bytes or a message

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5  # wire types
_MAX_VARINT_BYTES = 10
_UINT64 = 1 << 64  # values
_INT64_SIGN = 1 << 63  # the bit that makes a number negative


class MessageFields:
    """The fields of a message by number; what is missing or of another type is empty. ValueError."""

    def __init__(self, data: bytes) -> None:
        self._fields = read_fields(data)

    def has(self, number: int) -> bool:
        return any(one == number for one, _ in self._fields)

    def get_number(self, number: int) -> int:
        """The last value of a field, as a signed number."""
        found = [value for one, value in self._fields if one == number and isinstance(value, int)]
        return (found[-1] - (found[-1] & _INT64_SIGN) * 2) if found else 0

    def get_bytes(self, number: int) -> bytes:
        return next(reversed(self.list_bytes(number)), b"")

    def get_text(self, number: int) -> str:
        return self.get_bytes(number).decode(errors="replace")

    def list_bytes(self, number: int) -> list[bytes]:
        return [value for one, value in self._fields if one == number and isinstance(value, bytes)]

    def list_messages(self, number: int) -> list[MessageFields]:
        return [MessageFields(value) for value in self.list_bytes(number)]


def encode_values(values: Mapping[int, str | int | bytes | Sequence[bytes]]) -> bytes:
    """Encodes a message; what is empty is left out, as Protocol Buffers 3 does. A list is a repeated field."""
    fields = list[Field]()
    for number, value in sorted(values.items()):
        if isinstance(value, str | int | bytes):
            fields += [(number, value.encode() if isinstance(value, str) else value)] if value else []
        else:
            fields += [(number, one) for one in value]
    return write_fields(fields)


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
