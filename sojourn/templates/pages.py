"""Pages that stand where another one should be: bot checks, login walls, paywalls, missing pages, empty shells.

Such a page is short and speaks to the visitor. A page *about* these things has sentences of its own.
"""

from __future__ import annotations

import re

from sojourn.templates.phrases import chapter

_WORDS = chapter("pages")
SHORT = 700  # characters of text: what stands in for a page says little
_LOOKED_AT = 6_000
_BRIEF = 160  # characters: a longer sentence says something
_LABEL_WORDS, _LABEL_CHARACTERS = 4, 10  # a sentence of no more is a label
_LAST_OF_TITLE = 24
_FLAGS = re.IGNORECASE
_ERROR_TITLE = re.compile(r"\s*(?:" + _WORDS.pattern("titles") + ")", _FLAGS)
_ELSEWHERE = re.compile(_WORDS.pattern("elsewhere"), _FLAGS)
_POLITE = _WORDS.pattern("polite")
_TOLL = re.compile(_POLITE + "(?:" + _WORDS.pattern("tolls") + "|" + _WORDS.pattern("reports") + ")", _FLAGS)
_VOID = re.compile(_POLITE + "(?:" + _WORDS.pattern("voids") + ")", _FLAGS)
_TOLL_ANYWHERE = re.compile(_WORDS.pattern("tolls_anywhere"), _FLAGS)
_LABEL = re.compile(_WORDS.pattern("labels"), _FLAGS)
_ENDS = ("。", "！", "？", "…", ". ", "! ", "? ", ".\n", "!\n", "?\n", " | ", " · ", " – ", " — ", " - ")
_MARKS = ' \t\r-#>*"“「'
_ROLES = ("text", "heading", "paragraph", "generic", "alert", "slider", "button", "dialog", "StaticText", "link")
_LEAD = re.compile(r"\w+[:\s]+[\"“「]?")  # of a line in which an agent's browser writes a page
_STATUS = re.compile(r"(?<!\d)[45]\d\d(?!\d)")
_SEPARATOR = re.compile(r"\s[|\-–—_·»]\s|_")
_TITLE = re.compile(r"<title[^>]*>([^<]{0,200})</title>", _FLAGS)
_HIDDEN = re.compile(r"<(script|style|noscript|head)\b[^>]*>.{0,4000}?</\1>|<!--.{0,2000}?-->", _FLAGS | re.DOTALL)
_TAG = re.compile(r"<[^>]{0,500}>")
_FORM = re.compile(_WORDS.pattern("form"), _FLAGS | re.MULTILINE)  # a field of its own
_REPORTED = re.compile(r"^- Page (URL|Title): (.{0,300})$", re.MULTILINE)  # how browsers of agents tell of a page


def in_place_of(text: str, *, title: str = "", asked: str = "", landed: str = "") -> str:
    """What stands there instead of the page that was asked for; empty when it is the page."""
    if not title and not landed and "Page URL: " in text[:1000]:
        told = dict(_REPORTED.findall(text[:2000]))
        return in_place_of(text, title=told.get("Title", ""), asked=asked, landed=told.get("URL", "")) if told else ""
    if landed.startswith(("chrome-error:", "about:")) and not asked.startswith("about:"):
        return "the browser shows a page of its own"
    if title and is_error(title):
        return f'the page is "{title.strip()[:100]}"'
    wants_toll = bool(asked) and _ELSEWHERE.search(asked) is not None
    if asked and not wants_toll and not landed.startswith(asked) and _ELSEWHERE.search(landed):
        return f"it landed on {landed[:100]}"
    return "" if len(text) > _LOOKED_AT else _of_words(words_of(text), wants_toll)


def _of_words(words: str, wants_toll: bool) -> str:
    if not words:
        return "the page has no text"
    if len(words) > SHORT:
        return ""
    if (not words.isascii() or "to read the" in words or "reading" in words or "script" in words) and (
        hit := _TOLL_ANYWHERE.search(words)
    ):
        return f"the page says: {hit[0][:100]}"
    if ("assword" in words or "密码" in words) and not wants_toll and _FORM.search(words):
        return "the page asks for a login"
    sentences = _sentences(words)
    brief = [one for one in sentences if len(one) <= _BRIEF]
    if not wants_toll and (said := next((one for one in brief if _TOLL.match(one)), "")):
        return f"the page says: {said[:100]}"
    if len(brief) < len(sentences):
        return ""
    voids = [one for one in brief if _VOID.match(one)]
    if not voids or len(set(_STATUS.findall(words))) > 1:  # a list of codes explains them
        return ""
    has_own = any(_is_its_own(one) for one in brief if one not in voids)
    return "" if has_own else f"the page says: {voids[0][:100]}"


def _sentences(words: str) -> list[str]:
    for end in _ENDS:
        if end in words:
            words = words.replace(end, "\n")
    lines = (one.lstrip(_MARKS) for one in words.split("\n"))
    return [bare.strip() for one in lines if (bare := _LEAD.sub("", one, count=1) if one.startswith(_ROLES) else one)]


def _is_its_own(sentence: str) -> bool:
    """Whether a page has something to say: more than a label, and not about itself."""
    if _LABEL.search(sentence):
        return False
    return sentence.count(" ") >= _LABEL_WORDS or (not sentence.isascii() and len(sentence) > _LABEL_CHARACTERS)


def is_error(title: str) -> bool:
    """Whether a title is that of an error page: by its first words, or by its last after the name of the site."""
    if _ERROR_TITLE.match(title[:200]):
        return True
    rest = _SEPARATOR.split(title[:200])[1:]
    return len(rest) == 1 and len(rest[0]) < _LAST_OF_TITLE and _ERROR_TITLE.match(rest[0]) is not None


def title_of(html: str) -> str:
    hit = _TITLE.search(html[:_LOOKED_AT])
    return hit[1].strip() if hit else ""


def is_html(text: str) -> bool:
    start = text[:200].lstrip().lower()
    return start.startswith(("<!doctype html", "<html", "<head", "<body"))


def words_of(text: str) -> str:
    """The text of a page; of HTML, what a visitor would see of its beginning."""
    if not is_html(text):
        return text[:_LOOKED_AT].strip().replace("’", "'")
    return " ".join(_TAG.sub(" ", _HIDDEN.sub(" ", text[:_LOOKED_AT])).split())
