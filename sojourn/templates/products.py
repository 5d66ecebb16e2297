"""What came back in a result that is an object: a page, many pages, blocks of text, cells, or words about nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from sojourn.core.messages import Json
from sojourn.templates import answers, notices, pages
from sojourn.templates.calls import Call

Found = Mapping[str, Json]

TEXTS = ("content", "snapshot", "text", "markdown", "html", "body")
SAYINGS = ("note", "message", "detail", "reason", "notice", "msg")
ASIDES = ("warning", "info", "hint", "description")  # they matter when nothing came back
_PRODUCTS = (
    "content",
    "text",
    "matches",
    "entries",
    "files",
    "results",
    "data",
    "total_count",
    "items",
    "lines",
    "bytes_written",
    "diff",
    "files_modified",
    "count",
)


def error(call: Call, found: Found) -> str:
    value = found.get("error") or found.get("errors")
    if not value or value in ("none", "None", "null", "无") or call.manner == "relay":
        return ""
    if isinstance(value, list) and call.manner in ("page", "look", "search"):
        got = found.get("results") or found.get("content") or found.get("matches") or ()
        if isinstance(got, (list, str)) and len(got) > len(value):
            return ""
    return "it is marked as an error" if value is True else f"it names an error: {short(value)}"


def page(call: Call, found: Found) -> str:
    texts = [str(found[name] or "") for name in TEXTS if name in found]
    title, landed = str(found.get("title") or ""), str(found.get("url") or "")
    if not texts:
        return f'the page is "{short(title)}"' if pages.is_error(title) else ""
    if landed and len(texts[0]) > pages.SHORT and not title:
        return ""
    return pages.in_place_of("\n".join(texts), title=title, asked=call.url, landed=landed)


def title(call: Call, found: Found) -> str:
    title = found["title"]
    return f'the page is "{short(title)}"' if isinstance(title, str) and pages.is_error(title) else ""


def warned(call: Call, found: Found) -> str:
    is_little = len(str(found.get("snapshot") or "")) <= pages.SHORT
    return "a bot check stood in the way" if found["bot_detection_warning"] and is_little else ""


def most_results(call: Call, found: Found) -> str:
    """Of many things to read the greater part is enough."""
    results = found["results"]
    if not isinstance(results, list):
        return ""
    if not results:
        return "nothing came back" if call.manner == "page" else ""
    missed = [why for one in results if isinstance(one, dict) and (why := error(call, one) or _not_got(call, one))]
    return missed[0] if 2 * len(missed) >= len(results) and missed else ""


def _not_got(call: Call, one: Found) -> str:
    if call.manner != "page" or "content" not in one:
        return ""
    content = one["content"]
    if isinstance(content, str) and len(content) > pages.SHORT:
        return ""
    return pages.in_place_of(str(content or ""), title=str(one.get("title") or ""))


def blocks(call: Call, found: Found) -> str:
    """The words in the blocks that MCP servers answer with."""
    text = text_in(found.get("content"))
    return notices.refusal(text) or (notices.of_doing(text) if call.manner == "do" else "") if text else ""


def text_in(blocks: Json) -> str:
    if not isinstance(blocks, list):
        return ""
    texts = [one for one in blocks if isinstance(one, dict) and one.get("type") in ("text", "input_text")]
    return "\n".join(str(one.get("text", "")) for one in texts)


def nothing_shown(call: Call, found: Found) -> str:
    return "it is binary, and nothing was shown" if found["is_binary"] is True and not found.get("content") else ""


def no_snapshot(call: Call, found: Found) -> str:
    return "" if found["snapshot"] else "nothing was shown"


def cells(call: Call, found: Found) -> str:
    """What the cells of a notebook put out."""
    cells = found["outputs"]
    for one in cells if isinstance(cells, list) else ():
        if isinstance(one, dict) and one.get("output_type") == "error":
            return f"it names an error: {short(one.get('ename') or '')}"
    return ""


def said(call: Call, found: Found) -> str:
    """The words beside what came back. They matter when nothing did, and always where something was to be done."""
    products = [found[name] for name in _PRODUCTS if name in found]
    is_empty = bool(products) and not any(products)
    names = (*SAYINGS, *ASIDES) if is_empty else SAYINGS
    told = _first_text(found, names)
    if not told or call.manner == "ask":
        return ""
    if call.manner == "do":
        is_sure = found.get("success") is True or found.get("ok") is True
        return "" if is_sure and not is_empty else _quoted(notices.of_doing(told))
    if not is_empty:
        return ""
    return _quoted(notices.of_looking(told) if call.manner == "search" else notices.of_doing(told))


def part_done(call: Call, found: Found) -> str:
    return answers.not_all(found)


def _quoted(line: str) -> str:
    return f"it says: {short(line)}" if line else ""


def short(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:119] + "…"


def _first_text(found: Found, names: Iterable[str]) -> str:
    for name in names:
        value = found.get(name)
        if isinstance(value, str) and value:
            return value
    return ""
