"""Recognises pages in place of the requested one: bot checks, login walls, paywalls, error pages, empty shells.

Such a page is short and addresses the visitor. A page *about* these things has long sentences of its own.
"""

from __future__ import annotations

import re

from sojourn.templates.judge.phrases import compile_table

_I = re.IGNORECASE
_SHORT_CHARACTERS = 700
_READ_CHARACTERS = 6_000
_SENTENCE_CHARACTERS = 160  # a longer sentence is content
_POLITE = (
    r"(?:(?:oops|sorry|whoops|uh[ -]oh|hmm|unfortunately|please|but|the|this|that|your|our|we're"
    r"|抱歉|对不起|很遗憾|很抱歉|哎呀|糟糕|您|你|该|此)[，,！!.\s]*){0,4}"
)
_ERROR_TITLE = compile_table("page", "titles", _I, before=r"\s*")
_DETOUR = compile_table("page", "detours", _I)
_WALL = compile_table("page", "walls", _I, before=_POLITE)
_ABSENCE = compile_table("page", "absences", _I, before=_POLITE)
_SENTENCE_END = re.compile(r"[。！？…]|[.!?][ \n]| [|·–—-] |\n")
_ROLE = re.compile(r"(?:text|heading|paragraph|generic|alert|slider|button|dialog|StaticText|link)[:\s]+[\"“「]?")
_STATUS = re.compile(r"(?<!\d)[45]\d\d(?!\d)")
_SEPARATOR = re.compile(r"\s[|\-–—_·»]\s|_")
_TITLE = re.compile(r"<title[^>]*>([^<]{0,200})</title>", _I)
_HIDDEN = re.compile(r"<(script|style|noscript|head)\b[^>]*>.{0,4000}?</\1>|<!--.{0,2000}?-->", _I | re.DOTALL)
_TAG = re.compile(r"<[^>]{0,500}>")
_PASSWORD_FIELD = re.compile(
    r"^\W*(?:text|textbox|generic)?\W{0,3}(?:password|密码|请输入密码)\W*(?:\[[^\]]{0,40}\])?\s*$", _I | re.M
)
_REPORTED = re.compile(r"^- Page (URL|Title): (.{0,300})$", re.MULTILINE)  # the header of an agent's browser


def find_failure(text: str, *, title: str = "", asked: str = "", landed: str = "") -> str:
    """What is shown in place of the page `asked` for; `landed` is the address that was reached."""
    reported = dict(_REPORTED.findall(text[:2000])) if "Page URL: " in text[:1000] else {}
    hit = _TITLE.search(text[:_READ_CHARACTERS])
    title = title or reported.get("Title", "") or (hit[1].strip() if hit else "")
    landed = landed or reported.get("URL", "")
    if landed.startswith(("chrome-error:", "about:")) and not asked.startswith("about:"):
        return "the browser shows a page of its own"
    if is_error_title(title):
        return f'the page is "{title.strip()[:100]}"'
    wants_login = _DETOUR.search(asked) is not None
    if asked and not wants_login and not landed.startswith(asked) and _DETOUR.search(landed):
        return f"it landed on {landed[:100]}"
    return "" if len(text) > _READ_CHARACTERS else _find_wall(_visible_text(text), wants_login)


def _find_wall(words: str, wants_login: bool) -> str:
    if not words:
        return "the page has no text"
    if len(words) > _SHORT_CHARACTERS:
        return ""
    if not wants_login and _PASSWORD_FIELD.search(words):
        return "the page asks for a login"
    lines = [_ROLE.sub("", line.strip(' \t\r-#>*"“「'), count=1) for line in _SENTENCE_END.split(words)]
    short = [line for line in lines if 0 < len(line) <= _SENTENCE_CHARACTERS]
    wall = next((line for line in short if not wants_login and _WALL.match(line)), "")
    is_listing = len(set(_STATUS.findall(words))) > 1  # a list of status codes explains them
    if not wall and not is_listing and len(short) == sum(bool(line) for line in lines):
        wall = next((line for line in short if _ABSENCE.match(line)), "")
    return f"the page says: {wall[:100]}" if wall else ""


def is_error_title(title: str) -> bool:
    """By its first words, or by the last ones after the name of the site."""
    parts = _SEPARATOR.split(title[:200])
    return bool(
        _ERROR_TITLE.match(title[:200]) or (len(parts) == 2 and len(parts[1]) < 24 and _ERROR_TITLE.match(parts[1]))
    )


def is_html(text: str) -> bool:
    return text[:200].lstrip().lower().startswith(("<!doctype html", "<html", "<head", "<body"))


def _visible_text(text: str) -> str:
    if not is_html(text):
        return text[:_READ_CHARACTERS].strip().replace("’", "'")
    return " ".join(_TAG.sub(" ", _HIDDEN.sub(" ", text[:_READ_CHARACTERS])).split())
