"""What a server answered: a status, and a body that may say no under a status that says yes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from sojourn.core.messages import Json
from sojourn.templates import pages
from sojourn.templates.phrases import chapter

_WORDS = chapter("answers")
_BAD_WORDS = frozenset(("error", "err", "fail", "failed", "failure", "denied", "rejected", "unauthorized", "forbidden"))
_YES_OR_NO = ("success", "ok", "isSuccess", "is_success", "succeeded", "Success", "成功", "是否成功")
_GOOD_CODES = frozenset(("", "0", "00", "000", "0000", "00000", "000000", "ok", "success", "succeed", "true", "normal"))
_CODE = re.compile(_WORDS.pattern("code"))
_SAYING = re.compile(_WORDS.pattern("saying"))
# What an answer holds besides the thing itself. An answer of nothing else has nothing to give.
_ENVELOPE = frozenset(
    (
        "status",
        "success",
        "ok",
        "error",
        "errors",
        "data",
        "result",
        "request_id",
        "requestId",
        "RequestId",
        "trace_id",
        "traceId",
        "timestamp",
        "path",
        "type",
        "documentation_url",
        "instance",
        "__type",
        "jsonrpc",
        "more_info",
        "extensions",
        "log_id",
        "infocode",
        "hint",
        "state",
    )
)
_INNER = _WORDS["inner"]
_SAYS_YES = re.compile(_WORDS.pattern("says_yes"), re.IGNORECASE)
_SAYS_NO = re.compile(_WORDS.pattern("says_no"), re.IGNORECASE)
_PLAIN_NO = re.compile(_WORDS.pattern("plain_no"), re.IGNORECASE)
_XML_NO = re.compile(_WORDS.pattern("xml_no"))
_FAULT = re.compile(r"<(?:\w+:)?Fault\b|<faultstring>")
_CUT_OFF = re.compile(_WORDS.pattern("cut_off"))
_ID = re.compile(r"(?i:(?:\w*_)?id|job|build|order|task|run|name|number|订单号|编号|名称)")
_FAILED = _WORDS["failed"]
_DONE = _WORDS["done"]
_DEEDS = _WORDS["deeds"]
_MANY = ("results", "items", "responses")
_WANTED = ("expected", "expected_bytes", "total", "total_bytes", "requested", "size", "total_count", "expected_size")
_STATUS_LINE = re.compile(r"^HTTP/\d(?:\.\d)? (\d{3})", re.MULTILINE)
_EXPECTS = re.compile(_WORDS.pattern("expects"), re.IGNORECASE)
_REFUSES = re.compile(_WORDS.pattern("refuses"), re.IGNORECASE)
_ELSEWHERE = frozenset((301, 302, 303, 307, 308))
_PLAIN = frozenset(("status", "state", "result", "data", "message", "msg", "code", "errors"))
_BIG = 200_000  # characters: a longer body is what was asked for


def status_line(text: str) -> int:
    """The last HTTP status in a text (after redirects); 0 when there is none."""
    found = _STATUS_LINE.findall(text[:4_000])
    return int(found[-1]) if found else 0


def refused(status: int, about: str, *, looks: bool = False, writes: bool = False) -> str:
    """Why this status is no success. `about` is what the call says of itself: a refusal may be what it checks. To one
    who only `looks` whether something is there, that it is gone or elsewhere is an answer."""
    if status >= 400:
        is_answer = (looks and status in (404, 410)) or is_expected(status, about)
        return "" if is_answer else f"HTTP status {status}"
    is_fine = looks or writes or "redirect" in about.lower() or "跳转" in about
    return f"it was sent elsewhere: HTTP status {status}" if status in _ELSEWHERE and not is_fine else ""


def is_expected(status: int, about: str) -> bool:
    if status and re.search(rf"(?<!\d){status}(?!\d)", about):
        return True
    return status < 500 and bool(_EXPECTS.search(about) and _REFUSES.search(about))


def body(given: Json, *, writes: bool, asked: str = "") -> str:
    """Why a body says no; empty when it does not. `writes`: something was to be done, and all of it."""
    if isinstance(given, str):
        return _text(given, writes, asked)
    if isinstance(given, Mapping):
        return _object(given, writes)
    return _parts(given) if isinstance(given, list) and writes else ""


def parsed(text: str) -> Json:
    if len(text) > _BIG or not text.startswith(("{", "[")):
        return None
    try:
        found: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _text(text: str, writes: bool, asked: str) -> str:
    words = text[:_BIG].strip()
    if (found := parsed(words)) is not None:
        return body(found, writes=writes)
    if hit := _CUT_OFF.match(words):
        return f"the answer names an error: {words[hit.start(1) : hit.start(1) + 100]}"
    if pages.is_html(words):
        return pages.in_place_of(words, title=pages.title_of(words), asked=asked)
    if _XML_NO.match(words) or (words.startswith("<") and _FAULT.search(words[:2000])):
        return f"the answer is an error: {words[:100]}"
    return f"the answer says: {words[:100]}" if len(words) <= 300 and _PLAIN_NO.match(words) else ""


def _object(found: Mapping[str, Json], writes: bool) -> str:
    if any(found.get(name, True) in (False, "false", "False") for name in _YES_OR_NO):
        return f"the answer says so: {_saying(found) or _brief(found.get('error')) or 'no success'}"
    bare = is_bare(found)
    if why := _named_error(found, writes) or _coded(found, bare) or (not_all(found) if writes else ""):
        return why
    status = found.get("status") or found.get("result") or found.get("state")
    if status in ("fail", "error") and found.keys() <= _PLAIN:
        return f"the answer says {status}"
    if bare and (said := _saying(found)):
        if isinstance(status, str) and status.lower() in _BAD_WORDS:
            return f"the answer says {status}: {said}"
        if found.get("success") is not True and found.get("ok") is not True and _SAYS_NO.search(said):
            return f"the answer says: {said}"
    for name in _INNER:
        inner = found.get(name)
        if isinstance(inner, Mapping) and (why := _coded(inner, True) or _named_error(inner, writes)):
            return why
    return ""


def _named_error(found: Mapping[str, Json], writes: bool) -> str:
    for name in ("error", "errors", "Error", "fault", "exception"):
        value = found.get(name)
        if not value or value in ("none", "None", "null", "无") or (isinstance(value, int) and value is not True):
            continue
        if name == "errors" and _has_data(found) and not writes and value is not True:
            continue  # GraphQL: a part could not be read, the rest is there
        if not writes and _is_state(found):
            continue  # of a job or an order, that was asked for
        return "the answer is marked as an error" if value is True else f"the answer names an error: {_brief(value)}"
    return ""


def _is_state(found: Mapping[str, Json]) -> bool:
    """Whether it tells how something fares: it has a name, and a state."""
    has_state = "state" in found or isinstance(found.get("status"), str)
    return has_state and any(_ID.fullmatch(name[:20]) for name in found)


def _coded(found: Mapping[str, Json], bare: bool) -> str:
    """A code that is no yes, with words beside it that are none either."""
    said = _saying(found)
    for name, code in found.items():
        if isinstance(code, bool) or not isinstance(code, (int, str)) or not _CODE.fullmatch(name[:20]):
            continue
        text = str(code).lower()
        if text in _GOOD_CODES or re.fullmatch(r"2\d\d(?:00)?|20000", text) or _SAYS_YES.search(said):
            return ""
        if bare or _SAYS_NO.search(said):
            return f"the answer has {name} {code}: {said}"
    return ""


def counts(names: frozenset[str]) -> bool:
    """Whether fields of these names can tell how much was done."""
    if not names.isdisjoint(_DONE) and not names.isdisjoint((*_WANTED, "skipped")):
        return True
    return not names.isdisjoint((*_FAILED, *_DEEDS, *_MANY, "data"))


def not_all(found: Mapping[str, Json]) -> str:
    """Whether something that was to be done was done only in part."""
    for name in _FAILED:
        value = found.get(name)
        if value and value is not True and isinstance(value, (int, list)):
            return f"a part was not done: {name} {_brief(value)}"
    undone = next((name for name in _DEEDS if found.get(name) is False), "")
    if undone:
        return f"it was not {undone}"
    done = next((one for name in _DONE if isinstance(one := found.get(name), int)), None)
    wanted = next((one for name in _WANTED if isinstance(one := found.get(name), int)), None)
    if done is not None and wanted is not None and done < wanted:
        return f"a part was not done: {done} of {wanted}"
    if done == 0 and found.get("skipped"):
        return "nothing was done"
    if isinstance(inner := found.get("data"), Mapping) and (why := not_all(inner)):
        return why
    for name in _MANY:
        if isinstance(parts := found.get(name), list) and (why := _parts(parts)):
            return why
    return ""


def _parts(parts: list[Json]) -> str:
    """Of many things to do each counts."""
    return next((why for one in parts[:1000] if isinstance(one, Mapping) and (why := _part(one))), "")


def _part(one: Mapping[str, Json]) -> str:
    status = one.get("status")
    if isinstance(status, int) and 400 <= status < 600:
        return f"a part has status {status}"
    if one.get("success") is False or one.get("ok") is False:
        return f"a part says no: {_saying(one)}"
    return _named_error(one, True)


def is_bare(found: Mapping[str, Json]) -> bool:
    """Whether it is an envelope with nothing in it."""
    rest = found.keys() - _ENVELOPE
    return not _has_data(found) and all(_CODE.fullmatch(name[:20]) or _SAYING.fullmatch(name[:40]) for name in rest)


def _has_data(found: Mapping[str, Json]) -> bool:
    """Whether it gives anything: data that is not null all through."""
    value = found.get("data") or found.get("result")
    if isinstance(value, str) and value.lower() in _BAD_WORDS:
        return False
    return any(one is not None for one in value.values()) if isinstance(value, Mapping) else bool(value)


def _saying(found: Mapping[str, Json]) -> str:
    named = (one for name, one in found.items() if _SAYING.fullmatch(name[:40]))
    return next((one[:100].replace("_", " ") for one in named if isinstance(one, str) and one), "")


def _brief(value: Json) -> str:
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[:100]
