"""Which fields of a row other programs see: their names are public, and the rest stays inside."""

from sojourn.core.handoff import Handoff, HandoffId
from sojourn.core.places import Place
from sojourn.core.sessions import SessionId
from sojourn.gateway.payloads import OutboundPayload, encode_payload
from sojourn.gateway.status import delivery_to_json, handoff_to_json
from sojourn.ports.gateway_store import Outgoing

HANDOFF_KEYS = """
id session from_surface platform target by state surface thread_id place message_id note error_code error created_at
claimed_at bound_at finished_at
"""
DELIVERY_KEYS = """
id platform place session state attempts possible_duplicate message_id error created_at sent_at finished_at text
"""


def test_a_handoff_shows_its_public_fields():
    handoff = Handoff(id=HandoffId("h_1"), session=SessionId("s"), from_surface="cli", platform="local")
    assert sorted(handoff_to_json(handoff)) == sorted(HANDOFF_KEYS.split())


def test_a_delivery_shows_its_public_fields_and_the_beginning_of_its_text():
    payload = encode_payload(OutboundPayload(place=Place(platform="local", chat="home"), text="word " * 100))
    shown = delivery_to_json(
        Outgoing(id=1, key="k", platform="local", account="rooms", place="local:dm:home", payload=payload)
    )
    assert sorted(shown) == sorted(DELIVERY_KEYS.split())
    assert len(shown["text"]) == 200
