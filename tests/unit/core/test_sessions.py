"""Ids of sessions, turns and log entries."""

import re
import time

from sojourn.core.events import Chunk
from sojourn.core.sessions import Recorded, SessionId, new_session_id, new_turn_id


def test_a_session_id_begins_with_its_moment():
    now = time.time()
    assert new_session_id(now).startswith(time.strftime("%Y%m%d_%H%M%S_", time.localtime(now)))
    assert re.fullmatch(r"\d{8}_\d{6}_[0-9a-f]{8}", new_session_id())


def test_ids_differ_even_within_a_second():
    assert len({new_session_id(1.0) for _ in range(200)}) == 200
    assert len({new_turn_id() for _ in range(200)}) == 200
    assert re.fullmatch(r"t_[0-9a-f]{16}", new_turn_id())


def test_what_is_kept_has_a_public_id():
    assert Recorded(session=SessionId("abc"), seq=7, at=1.0, item=Chunk("x")).public_id == "abc:7"
