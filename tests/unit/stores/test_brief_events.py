"""Events are stored without what their row says or what is usual, and are read back whole."""

import dataclasses

import pytest

from sojourn.core.events import Chunk, Done, Failed, Metadata, Progress
from sojourn.core.sessions import Lease, SessionId, TurnId
from sojourn.stores.sql.log import _recorded_event, encode_event_row
from sojourn.text import event_codec
from sojourn.text.redaction import no_redaction

SESSION, TURN = SessionId("20260101_000000_0a0b0c0d"), TurnId("t_0011223344556677")
LEASE = Lease(session=SESSION, holder="x", surface="cli", fence=1, driver_fence=1, since=0, until=1)


class _Db:
    redact = staticmethod(no_redaction)


@pytest.mark.parametrize(
    ("event", "stored"),
    [
        (Metadata(session_id=SESSION, turn_id=TURN, runtime="echo"), '{"runtime":"echo","contract":1}'),
        (Metadata(session_id="other", turn_id=TURN), f'{{"session_id":"other","turn_id":"{TURN}","contract":1}}'),
        (Done(messages=(f"{SESSION}:2", "other:3")), '{"messages":[":2","other:3"]}'),
        (Done("failed", {"seconds": 0.5}), '{"status":"failed","usage":{"seconds":0.5}}'),
        (Failed("code", ""), '{"code":"code","message":""}'),
        (Progress("running", {"model": ""}), '{"stage":"running","detail":{"model":""}}'),
        (Progress("running"), '{"stage":"running"}'),
        (Chunk("a word "), '{"text":"a word "}'),
    ],
)
def test_an_event_is_stored_briefly_and_read_whole(event, stored):
    values, live = encode_event_row(_Db(), LEASE, 7, event, TURN, 1.0)
    row = dict(zip(("session_id", "seq", "turn_id", "name", "data", "at"), values, strict=True))
    assert row["data"] == stored
    assert _recorded_event(row, 0) == live
    assert live.item == event


def test_the_usual_values_are_those_of_the_classes():
    for kind, usual in event_codec._USUAL.items():
        for one in dataclasses.fields(kind):
            if one.name in usual:
                default = one.default if one.default is not dataclasses.MISSING else one.default_factory()
                assert default == usual[one.name]
