"""What the gateway stores about messages: the words of people are redacted, the ids of networks never."""

from sojourn.core.places import Place, Sender
from sojourn.gateway.bindings import encode_place
from sojourn.gateway.payloads import InboundPayload, OutboundPayload, encode_payload
from sojourn.ports.platform import Button
from sojourn.stores.sql.rows import decode_json, encode_json
from sojourn.text.redaction import redact

KEY, HIDDEN = "sk-proj-" + "Ab1" * 12, "[redacted:api-key]"
ROOM, EVENT = f"!{KEY}", f"${KEY}"  # random ids of base64url look like a key now and then
PLACE = Place(platform="matrix", chat=ROOM, kind="thread", thread=EVENT, parent=ROOM, name=KEY)


def test_the_ids_look_like_keys():
    assert (redact(ROOM), redact(EVENT)) == (f"!{HIDDEN}", f"${HIDDEN}")


def test_an_outgoing_message_keeps_its_address():
    sent = OutboundPayload(place=PLACE, text=KEY, reply_to=EVENT, buttons=(Button(label=KEY, value=EVENT),))
    kept = decode_json(encode_json(encode_payload(sent), redact))
    assert (kept["place"]["chat"], kept["place"]["thread"], kept["place"]["parent"]) == (ROOM, EVENT, ROOM)
    assert (kept["reply_to"], kept["buttons"]) == (EVENT, [{"label": HIDDEN, "value": EVENT}])
    assert (kept["text"], kept["place"]["name"]) == (HIDDEN, HIDDEN)


def test_an_incoming_message_keeps_its_ids():
    heard = InboundPayload(place=PLACE, text=KEY, sender=Sender(id=EVENT, name=KEY), id=EVENT)
    kept = decode_json(encode_json(encode_payload(heard), redact))
    assert (kept["id"], kept["sender"]["id"], kept["sender"]["name"], kept["text"]) == (EVENT, EVENT, HIDDEN, HIDDEN)


def test_a_binding_keeps_its_place():
    assert decode_json(encode_json(encode_place(PLACE), redact))["place"]["chat"] == ROOM
