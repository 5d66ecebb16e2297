"""A stream that is made to look like the beginning of a secret again and again keeps nobody busy."""

import time

import pytest

from sojourn.text.stream_redaction import StreamRedactor
from tests.unit.text.test_redaction import HOSTILE, PEM


@pytest.mark.parametrize("unit", [*HOSTILE, PEM], ids=range(len(HOSTILE) + 1))
def test_a_hostile_stream_takes_a_moment(unit):
    text, stream = unit * (4_000 // len(unit)), StreamRedactor()
    begun = time.process_time()
    for at in range(0, len(text), 16):
        stream.feed(text[at : at + 16])
    stream.end()
    assert time.process_time() - begun < 4
