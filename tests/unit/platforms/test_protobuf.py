"""The wire format of Protocol Buffers."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.platforms.protobuf import read_fields, write_fields

FIELDS = st.lists(st.tuples(st.integers(1, 2**29 - 1), st.integers(0, 2**64 - 1) | st.binary(max_size=40)), max_size=10)


@given(FIELDS)
def test_what_is_written_is_read(fields):
    assert read_fields(write_fields(fields)) == fields


def test_the_bytes_are_those_of_the_published_examples():
    assert write_fields([(1, 150)]) == bytes.fromhex("089601")
    assert write_fields([(2, b"testing")]) == bytes.fromhex("120774657374696e67")
    assert write_fields([(3, bytes.fromhex("089601"))]) == bytes.fromhex("1a03089601")


def test_a_negative_number_is_ten_bytes_long():
    assert write_fields([(1, -2)]) == bytes.fromhex("08feffffffffffffffff01")


def test_values_of_fixed_width_are_skipped():
    assert read_fields(bytes.fromhex("0d01020304" + "111122334455667788" + "1807")) == [(3, 7)]


@pytest.mark.parametrize(
    "data", ["08", "0880", "1205", "120541", "0d0102", "0b", "0c", "00", "08" + "ff" * 10, "08ffffffffffffffffff7f"]
)
def test_a_broken_message_is_refused(data):
    with pytest.raises(ValueError):  # noqa: PT011
        read_fields(bytes.fromhex(data))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data):
    with suppress(ValueError):
        read_fields(data)
