"""Twilio's requests: their signature, and what a form says about a message."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from sojourn.core.errors import BadInput
from sojourn.core.places import Place
from sojourn.core.settings import Secret
from sojourn.platforms.request_checks import RequestRefused, is_equal
from sojourn.platforms.sms import NAME

Form = Mapping[str, Sequence[str]]

_NUMBER = re.compile(r"\+[1-9][0-9]{5,14}")
_SID = re.compile(r"(?:SM|MM)[0-9a-f]{32}")
_MAX_FIELDS = 300  # of one form
_MAX_FILES = 10  # of one message
STOP_WORDS = frozenset({"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"})
START_WORDS = frozenset({"START", "UNSTOP"})
CONTROL_WORDS = STOP_WORDS | START_WORDS | {"HELP", "INFO"}  # Twilio answers these itself


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMessage:
    """A message that came in. `files` are addresses with their media types."""

    sid: str
    number: str
    text: str
    at: float
    files: tuple[tuple[str, str], ...] = ()
    opt_out: str = ""  # STOP, START or HELP, where Twilio says so


def build_place(chat: str) -> Place:
    """Builds the place of a telephone number. BadInput."""
    number = re.sub(r"[\s()/.-]", "", chat)
    if _NUMBER.fullmatch(number) is None:
        hint = "Write it with + and the country code, for example +491701234567."
        raise BadInput(f"{chat[:80]!r} is not a telephone number.", hint=hint)
    return Place(platform=NAME, chat=number)


def is_number(text: str) -> bool:
    """Whether somebody can be answered: not a short code, a name, or a number of another network."""
    return _NUMBER.fullmatch(text) is not None


def parse_form(body: bytes) -> Form:
    """RequestRefused (400) if it is no form."""
    try:
        return parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="replace")
    except ValueError as error:
        raise RequestRefused("it is not the form that was expected", status=400) from error


def compute_signature(token: Secret, url: str, form: Form) -> str:
    """`X-Twilio-Signature`: of the address, and of every field and its values in their order."""
    signed = url + "".join(name + value for name in sorted(form) for value in sorted(set(form[name])))
    digest = hmac.new(token.reveal().encode(), signed.encode(errors="replace"), hashlib.sha1).digest()
    return base64.b64encode(digest).decode()


def is_signed(token: Secret, url: str, form: Form, given: str) -> bool:
    """Twilio writes the default port into the address, or leaves it out."""
    parts = urlsplit(url)
    port = ":443" if parts.scheme == "https" else ":80"
    host = parts.netloc.removesuffix(port)
    other = url.replace(parts.netloc, host if host != parts.netloc else f"{host}{port}", 1)
    return any(is_equal(given, compute_signature(token, one, form)) for one in (url, other))


def read_field(form: Form, name: str) -> str:
    return (form.get(name) or ("",))[0]


def parse_message(form: Form, *, at: float) -> TextMessage | None:
    """None if it is no message, or of a sender who cannot be answered."""
    sid, number = read_field(form, "MessageSid"), read_field(form, "From")
    if _SID.fullmatch(sid) is None or not is_number(number):
        return None
    files = ((read_field(form, f"MediaUrl{n}"), read_field(form, f"MediaContentType{n}")) for n in range(_MAX_FILES))
    return TextMessage(
        sid=sid,
        number=number,
        text=read_field(form, "Body"),
        at=at,
        files=tuple(one for one in files if one[0]),
        opt_out=read_field(form, "OptOutType"),
    )
