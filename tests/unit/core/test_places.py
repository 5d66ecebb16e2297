"""One key says which session a message belongs to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.errors import BadInput
from sojourn.core.places import Place, Sender, build_session_key

ADA, BOB = Sender(id="7", name="Ada"), Sender(id="8", name="Bob")
ROOM = Place(platform="telegram", chat="-100", kind="group")
TOPIC = Place(platform="telegram", chat="-100", kind="thread", thread="5")


def test_a_private_chat_is_one_session_whatever_the_name():
    assert build_session_key(Place(platform="telegram", chat="7", name="Ada"), ADA) == "telegram:dm:7"


def test_in_a_group_each_person_has_a_session_unless_set_otherwise():
    assert build_session_key(ROOM, ADA) != build_session_key(ROOM, BOB)
    assert build_session_key(ROOM, ADA, group_sessions_per_user=False) == build_session_key(
        ROOM, BOB, group_sessions_per_user=False
    )


def test_in_a_thread_everybody_shares_the_session_and_so_does_a_hand_off_without_a_person():
    assert build_session_key(TOPIC, ADA) == build_session_key(TOPIC, BOB) == build_session_key(TOPIC)
    assert build_session_key(TOPIC, ADA, thread_sessions_per_user=True) != build_session_key(
        TOPIC, BOB, thread_sessions_per_user=True
    )


def test_the_same_ids_in_two_workspaces_are_two_places():
    one, other = (Place(platform="slack", chat="C1", kind="channel", scope=scope) for scope in ("T1", "T2"))
    assert build_session_key(one) != build_session_key(other)


@given(st.text(min_size=1, max_size=9), st.text(min_size=1, max_size=9))
def test_no_two_places_share_a_key_whatever_is_in_their_ids(chat, thread):
    try:
        joined = build_session_key(Place(platform="x", chat=f"{chat}:{thread}", kind="thread"))
        split = build_session_key(Place(platform="x", chat=chat, kind="thread", thread=thread))
    except BadInput:
        return
    assert joined != split


@pytest.mark.parametrize("chat", ["", "../etc", "/etc", "a\x00b"])
def test_what_is_no_id_is_refused(chat):
    with pytest.raises(BadInput, match="place"):
        build_session_key(Place(platform="x", chat=chat))
