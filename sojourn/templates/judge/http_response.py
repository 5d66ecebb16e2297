"""Judges HTTP responses: the status, a body that may report an error under a status of 200, and web pages.

A page in place of the requested one (bot check, login wall, paywall, error page, empty shell) is short and addresses
the visitor. A page *about* these things has long sentences of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from sojourn.core.messages import Json
from sojourn.templates.judge import failure_text
from sojourn.templates.judge.phrases import TABLES, compile_chapter, load_words
from sojourn.templates.tool_calls import json_of

_I = re.IGNORECASE
_SUCCESS_FLAGS = ("success", "ok", "isSuccess", "is_success", "succeeded", "Success", "成功", "是否成功")
_BAD_STATES = ["error", "err", "fail", "failed", "failure", "denied", "rejected", "unauthorized", "forbidden"]
_GOOD_CODE = re.compile(r"0*|ok|success|succeed|true|normal|2\d\d(?:00)?|20000")
# Fields that surround the payload. A response of nothing else has no payload.
_ENVELOPE = load_words("fields", "envelope")
_HEADERS = load_words("fields", "headers")
_FAILED_FIELD = re.compile(r"(?:fail(?:ed|ures?)?|errors?_?[cC]ount|rejected|bounced)(?:_?[cC]ount)?|失败数?")
_DONE_FIELDS = load_words("fields", "done_fields")
_TOTAL_FIELDS = load_words("fields", "total_fields")
_STATUS_LINE = re.compile(r"^HTTP/\d(?:\.\d)? (\d{3})", re.MULTILINE)
_STATUS_HEAD = re.compile(r"\s*(?:HTTP|(?:HTTP |Response )?Status(?: code)?:|状态码?\s?[:：])\s*(\d{3})\b", _I)
_DATA = re.compile(r"\.(?:json|xml|csv|ya?ml)\b|application/json")
_PAGE_CHARACTERS, _READ_CHARACTERS = 700, 6_000
_SENTENCE_CHARACTERS = 160  # a longer sentence is content
_POLITE = TABLES["page"]["polite"]
PAGE = compile_chapter("page", _I, titles=r"\s*", walls=_POLITE, absences=_POLITE)
HTTP = compile_chapter("http", _I)
_SENTENCE_END = re.compile(r"[。！？…]|[.!?][ \n]| [|·–—-] |\n")
_STATUS_CODE = re.compile(r"(?<!\d)[45]\d\d(?!\d)")
_TITLE = re.compile(r"<title[^>]*>([^<]{0,200})</title>", _I)
_HIDDEN = re.compile(r"<(script|style|noscript|head)\b[^>]*>.{0,4000}?</\1>|<!--.{0,2000}?-->", _I | re.DOTALL)
_TAG = re.compile(r"<[^>]{0,500}>")
_REPORTED = re.compile(r"^- Page (URL|Title): (.{0,300})$", re.MULTILINE)  # the header of an agent's browser
_MAX_BODY_CHARACTERS = 200_000  # a longer body is the payload
_NO_ERROR = ("none", "None", "null", "无")


def split_response(text: str) -> tuple[int, str]:
    """The last HTTP status above a body (after redirects), and the body; 0 if no status is shown."""
    hits = list(_STATUS_LINE.finditer(text, 0, 4_000)) or [hit for hit in (_STATUS_HEAD.match(text),) if hit]
    if not hits:
        return 0, text
    rest = text[hits[-1].end() :].replace("\r\n", "\n").partition("\n")[2]
    is_bare = rest.lstrip().startswith(("{", "[", "<"))
    return int(hits[-1][1]), rest if is_bare or "\n\n" not in rest else rest.partition("\n\n")[2]


def explain_status(status: int, about: str, *, probes: bool = False) -> str:
    """Why a status is a failure. A call that `probes` asks for the status, and gets an answer with any."""
    is_moved = status in (301, 302, 307, 308) and "redirect" not in about
    is_answer = (status < 400 and not is_moved) or (probes and status < 600) or is_expected(status, about)
    return "" if is_answer else f"HTTP status {status}"


def is_expected(status: int, about: str) -> bool:
    """Whether the call says that a rejection is what it checks."""
    if status and re.search(rf"(?<!\d){status}(?!\d)", about):
        return True
    return status < 500 and bool(HTTP["expects"].search(about) and HTTP["rejection"].search(about))


def find_failure(body: Json, *, writes: bool, asked: str = "") -> str:
    """Why a body reports a failure. If the call `writes`, a part that was not done counts. `asked` is the address."""
    if isinstance(body, str):
        text = body[:_MAX_BODY_CHARACTERS].strip()
        body = parse_json(text)
        if body is None:
            return _judge_text(text, writes, asked)
    return _judge_object(body, writes) if isinstance(body, Mapping) else ""


def parse_json(text: str, *, openings: tuple[str, ...] = ("{", "[")) -> Json:
    """The JSON value that a text is; None for a text that does not begin so."""
    try:
        return json_of(text) if text[:20].lstrip().startswith(openings) else None
    except (ValueError, RecursionError):
        return None


def _judge_text(text: str, writes: bool, asked: str) -> str:
    if _is_html(text):
        return find_page_failure(text) or ("a page came in place of data" if _DATA.search(asked[:2000]) else "")
    if text.startswith("<"):
        is_error = HTTP["xml_error"].search(text[:_READ_CHARACTERS]) is not None
    else:
        is_denied = writes and failure_text.MESSAGE["negation"].search(text[:300].replace("_", " "))
        is_error = len(text) <= 300 and bool(is_denied or failure_text.MESSAGE["error"].match(text))
    return f"the answer says: {text[:100]}" if is_error else ""


def _judge_object(found: Mapping[str, Json], writes: bool) -> str:
    message = _find_message(found)
    if any(found.get(name, True) in (False, "false", "False") for name in _SUCCESS_FLAGS):
        return f"the answer says so: {message or shorten(found.get('error')) or 'no success'}"
    is_empty = is_envelope(found)
    reason = _find_named_error(found, writes) or _find_bad_code(found, is_empty)
    if reason := reason or (find_undone(found) if writes else ""):
        return reason
    state = found.get("status") or found.get("result") or found.get("state")
    is_bad = isinstance(state, str) and state.lower() in _BAD_STATES
    if is_empty and (is_bad or (found.get("ok") is not True and failure_text.MESSAGE["negation"].search(message))):
        return f"the answer says: {message or state}"
    for name in _HEADERS:
        inner = found.get(name)
        if isinstance(inner, Mapping) and (reason := _find_bad_code(inner, True) or _find_named_error(inner, writes)):
            return reason
    return ""


def _find_named_error(found: Mapping[str, Json], writes: bool) -> str:
    for name in ("error", "errors", "Error", "fault", "exception"):
        value = found.get(name)
        if not value or value in _NO_ERROR or (isinstance(value, int) and value is not True):
            continue
        is_partial = name == "errors" and value is not True and _has_payload(found)  # GraphQL
        is_record = {"id", "job", "name", "number"} & found.keys() and {"state", "status"} & found.keys()
        if writes or not (is_partial or is_record):
            return f"the answer names an error: {shorten(value)}"
    return ""


def _find_bad_code(found: Mapping[str, Json], is_empty: bool) -> str:
    """A result code other than success, unless the message beside it is positive."""
    message = _find_message(found)
    for name, code in found.items():
        if isinstance(code, bool) or not isinstance(code, (int, str)) or not HTTP["code_field"].fullmatch(name[:20]):
            continue
        if _GOOD_CODE.fullmatch(str(code).lower()) or failure_text.MESSAGE["done"].match(message):
            return ""
        if is_empty or failure_text.MESSAGE["negation"].search(message):
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
    names = [name for name in found.keys() - _ENVELOPE if not HTTP["message_field"].fullmatch(name[:40])]
    return all(HTTP["code_field"].fullmatch(name[:20]) for name in names) and not _has_payload(found)


def _has_payload(found: Mapping[str, Json]) -> bool:
    value = found.get("data") or found.get("result")
    if isinstance(value, Mapping):
        return any(one is not None for one in value.values())
    return bool(value) and not (isinstance(value, str) and value.lower() in _BAD_STATES)


def _find_message(found: Mapping[str, Json]) -> str:
    named = (one for name, one in found.items() if HTTP["message_field"].fullmatch(name[:40]))
    return next((one[:100].replace("_", " ") for one in named if isinstance(one, str) and one), "")


def shorten(value: Json) -> str:
    """A value as one short line of text."""
    text = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split())
    return text if len(text) <= 120 else text[:119] + "…"


def find_page_failure(text: str, *, title: str = "", asked: str = "", landed: str = "") -> str:
    """What is shown in place of the page `asked` for; `landed` is the address that was reached."""
    reported = dict(_REPORTED.findall(text[:2000])) if "Page URL: " in text[:1000] else {}
    hit = _TITLE.search(text[:_READ_CHARACTERS])
    title = title or reported.get("Title", "") or (hit[1].strip() if hit else "")
    landed = landed or reported.get("URL", "")
    if landed.startswith(("chrome-error:", "about:")) and not asked.startswith("about:"):
        return "the browser shows a page of its own"
    if PAGE["titles"].match(title):
        return f'the page is "{title.strip()[:100]}"'
    wants_login = PAGE["detours"].search(asked) is not None
    if asked and not wants_login and not landed.startswith(asked) and PAGE["detours"].search(landed):
        return f"it landed on {landed[:100]}"
    if len(text) > _READ_CHARACTERS:
        return ""
    words = _extract_text(text)
    has_login = len(words) <= _PAGE_CHARACTERS and PAGE["password"].search(text)
    return "the page asks for a login" if has_login and not wants_login else _find_wall(words, wants_login)


def _find_wall(words: str, wants_login: bool) -> str:
    if not words:
        return "the page has no text"
    if len(words) > _PAGE_CHARACTERS:
        return ""
    lines = [line.strip(' \t\r-#>*"“「') for line in _SENTENCE_END.split(words)]
    short = [line for line in lines if 0 < len(line) <= _SENTENCE_CHARACTERS]
    wall = next((line for line in short if not wants_login and PAGE["walls"].match(line)), "")
    is_listing = len(set(_STATUS_CODE.findall(words))) > 1  # a list of status codes explains them
    if not wall and not is_listing and len(short) == sum(bool(line) for line in lines):
        wall = next((line for line in short if PAGE["absences"].match(line)), "")
    return f"the page says: {wall[:100]}" if wall else ""


def _is_html(text: str) -> bool:
    return text[:200].lstrip().lower().startswith(("<!doctype html", "<html", "<head", "<body"))


def _extract_text(text: str) -> str:
    if not _is_html(text):
        return text[:_READ_CHARACTERS].strip().replace("’", "'")
    return " ".join(_TAG.sub(" ", _HIDDEN.sub(" ", text[:_READ_CHARACTERS])).split())
