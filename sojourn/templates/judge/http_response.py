"""Judges HTTP responses: the status, and a body that may report an error under a status of 200."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from sojourn.core.messages import Json
from sojourn.templates.judge import tool_message, web_page
from sojourn.templates.judge.phrases import compile_table, words_of

_I = re.IGNORECASE
_SUCCESS_FLAGS = ("success", "ok", "isSuccess", "is_success", "succeeded", "Success", "成功", "是否成功")
_BAD_STATES = words_of("error err fail failed failure denied rejected unauthorized forbidden")
_GOOD_CODE = re.compile(r"0*|ok|success|succeed|true|normal|2\d\d(?:00)?|20000")
_CODE_FIELD = re.compile(
    r"(?i:(?:err(?:or)?|ret(?:urn)?|result|resp|rsp|status|biz|sub|info)?_?(?:code|no)|ret|cod|rc)"
)
_MESSAGE_FIELD = re.compile(
    r"(?i:\w*(?:msg|message|reason|details?|desc|description|info|tips?)|title)|消息|信息|提示|原因"
)
# Fields that surround the payload. A response of nothing else has no payload.
_ENVELOPE = words_of(
    "status success ok error errors data result request_id requestId RequestId trace_id traceId timestamp path type "
    "documentation_url instance __type jsonrpc more_info extensions log_id infocode hint state"
)
_HEADERS = words_of("meta header head Response base_resp BaseResponse result status response error_info")
_XML_ERROR = re.compile(
    r"\s*(?:<\?xml[^>]{0,200}\?>\s*)?<(?:Error|ErrorResponse|error)\b|<[^\n]{0,2000}<?(?:\w+:)?(?:Fault|faultstring)\b"
)
_CUT_OFF_ERROR = re.compile(r"\{\s*\"(?:error|errors|errmsg|fault)\"\s*:\s*((?!null|\[\s*\]|\{\s*\}|0|false|\"\")\S)")
_FAILED_FIELD = re.compile(r"(?:fail(?:ed|ures?)?|errors?_?[cC]ount|rejected|bounced)(?:_?[cC]ount)?|失败数?")
_DONE_FIELDS = words_of(
    "bytes_written written uploaded sent copied downloaded delivered succeeded success_count inserted moved published "
    "transferred received bytes_received bytes complete deleted created saved updated applied installed clicked"
)
_TOTAL_FIELDS = words_of("expected expected_bytes total total_bytes requested size total_count expected_size")
_STATUS_LINE = re.compile(r"^HTTP/\d(?:\.\d)? (\d{3})", re.MULTILINE)
_EXPECTS = compile_table("http", "expects", _I)
_REJECTION = compile_table("http", "rejection", _I)
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_MAX_BODY_CHARACTERS = 200_000  # a longer body is the payload
_NO_ERROR = ("none", "None", "null", "无")


def parse_status_line(text: str) -> int:
    """The last HTTP status in a text (after redirects); 0 if there is none."""
    found = _STATUS_LINE.findall(text[:4_000])
    return int(found[-1]) if found else 0


def explain_status(status: int, about: str, *, probes: bool = False, writes: bool = False) -> str:
    """Why a status is a failure. A call that `probes` whether something exists gets an answer with 404."""
    if status >= 400:
        is_answer = (probes and status in (404, 410)) or is_expected(status, about)
        return "" if is_answer else f"HTTP status {status}"
    is_fine = probes or writes or "redirect" in about.lower() or "跳转" in about
    return f"it was redirected: HTTP status {status}" if status in _REDIRECTS and not is_fine else ""


def is_expected(status: int, about: str) -> bool:
    """Whether the call says that a rejection is what it checks."""
    if status and re.search(rf"(?<!\d){status}(?!\d)", about):
        return True
    return status < 500 and bool(_EXPECTS.search(about) and _REJECTION.search(about))


def find_failure(body: Json, *, writes: bool, asked: str = "") -> str:
    """Why a body reports a failure. If the call `writes`, a part that was not done counts."""
    if isinstance(body, str):
        return _judge_text(body[:_MAX_BODY_CHARACTERS].strip(), writes, asked)
    return _judge_object(body, writes) if isinstance(body, Mapping) else ""


def parse_json(text: str) -> Json:
    if len(text) > _MAX_BODY_CHARACTERS or not text.startswith(("{", "[")):
        return None
    try:
        found: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _judge_text(text: str, writes: bool, asked: str) -> str:
    if (found := parse_json(text)) is not None:
        return find_failure(found, writes=writes)
    if web_page.is_html(text):
        return web_page.find_failure(text, asked=asked)
    is_error = (
        _XML_ERROR.match(text) or _CUT_OFF_ERROR.match(text) or (len(text) <= 300 and tool_message.is_error(text))
    )
    return f"the answer says: {text[:100]}" if is_error else ""


def _judge_object(found: Mapping[str, Json], writes: bool) -> str:
    message = _message_in(found)
    if any(found.get(name, True) in (False, "false", "False") for name in _SUCCESS_FLAGS):
        return f"the answer says so: {message or shorten(found.get('error')) or 'no success'}"
    is_empty = is_envelope(found)
    if reason := _named_error(found, writes) or _bad_code(found, is_empty) or (find_undone(found) if writes else ""):
        return reason
    state = found.get("status") or found.get("result") or found.get("state")
    is_bad = isinstance(state, str) and state.lower() in _BAD_STATES
    if is_empty and (is_bad or (found.get("ok") is not True and tool_message.is_negated(message))):
        return f"the answer says: {message or state}"
    for name in _HEADERS:
        inner = found.get(name)
        if isinstance(inner, Mapping) and (reason := _bad_code(inner, True) or _named_error(inner, writes)):
            return reason
    return ""


def _named_error(found: Mapping[str, Json], writes: bool) -> str:
    for name in ("error", "errors", "Error", "fault", "exception"):
        value = found.get(name)
        if not value or value in _NO_ERROR or (isinstance(value, int) and value is not True):
            continue
        is_partial = name == "errors" and value is not True and _has_payload(found)  # GraphQL
        is_record = {"id", "job", "name", "number"} & found.keys() and {"state", "status"} & found.keys()
        if writes or not (is_partial or is_record):
            return f"the answer names an error: {shorten(value)}"
    return ""


def _bad_code(found: Mapping[str, Json], is_empty: bool) -> str:
    """A result code other than success, unless the message beside it is positive."""
    message = _message_in(found)
    for name, code in found.items():
        if isinstance(code, bool) or not isinstance(code, (int, str)) or not _CODE_FIELD.fullmatch(name[:20]):
            continue
        if _GOOD_CODE.fullmatch(str(code).lower()) or tool_message.is_done(message):
            return ""
        if is_empty or tool_message.is_negated(message):
            return f"the answer has {name} {code}: {message}"
    return ""


def find_undone(found: Mapping[str, Json]) -> str:
    """The field that says that only a part of the work was done."""
    for name, value in found.items():
        if value and value is not True and isinstance(value, (int, list)) and _FAILED_FIELD.fullmatch(name[:20]):
            return f"a part was not done: {name} {shorten(value)}"
    if refused := next((name for name in _DONE_FIELDS if found.get(name) is False), ""):
        return f"it was not {refused}"
    done = next((one for name in _DONE_FIELDS if isinstance(one := found.get(name), int)), None)
    total = next((one for name in _TOTAL_FIELDS if isinstance(one := found.get(name), int)), done)
    if done is not None and total is not None and (done < total or (done == 0 and found.get("skipped"))):
        return f"a part was not done: {done} of {total}"
    parts = found.get("results") or found.get("items") or [found.get("data")]
    parts = [one for one in parts if isinstance(one, Mapping)] if isinstance(parts, list) else []
    return next((why for one in parts if (why := _judge_object(one, True))), "")


def is_envelope(found: Mapping[str, Json]) -> bool:
    """Whether a response has codes and messages, but no payload."""
    rest = found.keys() - _ENVELOPE
    is_bare = all(_CODE_FIELD.fullmatch(name[:20]) or _MESSAGE_FIELD.fullmatch(name[:40]) for name in rest)
    return is_bare and not _has_payload(found)


def _has_payload(found: Mapping[str, Json]) -> bool:
    value = found.get("data") or found.get("result")
    if isinstance(value, Mapping):
        return any(one is not None for one in value.values())
    return bool(value) and not (isinstance(value, str) and value.lower() in _BAD_STATES)


def _message_in(found: Mapping[str, Json]) -> str:
    named = (one for name, one in found.items() if _MESSAGE_FIELD.fullmatch(name[:40]))
    return next((one[:100].replace("_", " ") for one in named if isinstance(one, str) and one), "")


def shorten(value: Json) -> str:
    """A value as one short line of text."""
    text = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split())
    return text if len(text) <= 120 else text[:119] + "…"
