"""The words of a program that ended well, held against what it was run for: a command, a fetch, or code."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sojourn.core.messages import Json
from sojourn.templates import answers, endings, shells, signs
from sojourn.templates.calls import Call
from sojourn.templates.phrases import chapter

_WORDS = chapter("programs")
_READS = ("open(", ".read(", "read_text", "read_file(", "readlines")
_RUNS = ("subprocess", "os.system", "os.popen", "run(", "terminal(", "Popen")
_HANDLES = ("except", "catch", "rescue")
_ASKS_A_SERVER = _WORDS["asks_a_server"]
# The interpreter's own word that this very code broke.
_UNCAUGHT = re.compile(_WORDS.pattern("uncaught"), re.MULTILINE)
_NAMED = re.compile(r"^\W{0,3}(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Timeout)[ :(]\s?(?![\s\d])", re.MULTILINE)
_EXPECTED = _WORDS.sought("expected")
_RETURNED = re.compile(_WORDS.pattern("returned"))
_HANDLER = re.compile(r"\b(?:except|catch)\b[^\n]{0,200}(?:\n[ \t]+[^\n]{0,200}){0,3}")
_LITERAL = re.compile(r"print\w*\(\s*(?:[\w.,]{1,40}\s*,?\s*){0,2}f?['\"]([^'\"{}\\\n]{2,80})")
_STATUS = re.compile(_WORDS.pattern("status"))
_VALUE = re.compile(r"(?<![\w.])[1-9]\d*(?:\.\d+)?(?![\w.])")
_TO_FILE = re.compile(_WORDS.pattern("to_file"))
_SENDS = re.compile(_WORDS.pattern("sends"))
_NOISE = re.compile(r"^(?:curl: |Warning: |\s*%|\s*Dload|\s*\d+ +\d|--:)")
# A script's way of saying that it did not do what it is there for.
_DECLINES = re.compile(_WORDS.pattern("declines"))
_URL = re.compile(r"https?://[^\s'\"]+")
_SHOWN = re.compile(r"[^\s\d]\s*\n\s*([1-5]\d\d)\s*$")  # a status after the body it came with
_BLANK_LINE = re.compile(r"\r?\n\r?\n")
_LAST_STATUS = re.compile(r"(?:^|\s)(000|[1-5]\d\d)\s*$")
_KEEPS = re.compile(r"\s(?:-o|--output)\s+(?!/dev/null|NUL\b)\S|\s-O\b")
_OPENINGS = tuple("{<0123456789")
_SHORT = 300  # characters: a server that says no says little


def failure(call: Call, output: str) -> str:
    """Why it did not do its work, if its words say so. Most outputs hold no word that could."""
    if call.is_code:
        return _of_code(call, signs.told(output))
    command = shells.first_look(call.command)
    if command.fetches:
        return _of_fetch(call, command.line, signs.told(output))
    if command.only_reads:
        return _quoted(signs.complaint(output, command.line))
    said = signs.told(output)
    is_worth_it = endings.is_telling(said) or (command.asks and 0 < len(output) <= _SHORT)
    return _of_command(command.line, said) if is_worth_it else ""


def _of_command(command: str, said: signs.Told) -> str:
    why = endings.failure(said, command, chained=shells.is_chained(command), forgives=shells.forgives(command))
    if not why and len(said.whole) <= _SHORT and shells.is_script(command):
        why = _declined(said.whole, command)
    return _quoted(why)


def _declined(output: str, command: str) -> str:
    """The last line of a script that says politely that it did nothing."""
    last = _last_line(output).strip()
    if signs.is_good(last) or endings.is_of_table(last) or endings.is_what_was_asked(last, command):
        return ""
    return last[:200] if _DECLINES.search(last) else ""


# -- code ---------------------------------------------------------------------------------


def _of_code(call: Call, said: signs.Told) -> str:
    output, looked_at, is_telling = said.whole, said.ends, endings.is_telling(said)
    may_be_answer = looked_at[:12].lstrip()[:1] in _OPENINGS
    if not is_telling and not may_be_answer:
        return ""
    code = call.command
    if ("<" in looked_at or "Cell In[" in looked_at) and (hit := _UNCAUGHT.search(looked_at)):
        return _quoted(_last_line(output) if "Error" in output[-400:] else hit[0])
    if (may_be_answer or "HTTP" in looked_at) and (why := _of_answer(code, output)):
        return why
    if "returncode" in code and (hit := _RETURNED.match(output)) and int(hit[1]) and output[hit.end() :].strip():
        return f"what it ran returned {hit[1]}"
    return _quoted(_passed_over(code, said)) if is_telling else ""


def _has(code: str, words: Sequence[str]) -> bool:
    return any(word in code for word in words)


def _passed_over(code: str, said: signs.Told) -> str:
    """What went wrong in code that went on, or that minded it."""
    handles = _has(code, _HANDLES)
    if not handles:
        is_read = _has(code, _READS) and not _has(code, _RUNS)
        return "" if is_read else endings.failure(said, code)
    why = endings.failure(said, code) or _lost(code, said.ends)
    if not why and (hit := _NAMED.search(said.ends)):
        why = said.ends[hit.start() :].strip().partition("\n")[0][:200]
    return "" if not why or _EXPECTED.search(said.ends) or _made_something(why, said.ends) else why


def _lost(code: str, text: str) -> str:
    """The line that the code prints when something goes wrong: by the words it has for that, else by the exception."""
    said = [word.strip() for body in _HANDLER.findall(code[:8000]) for word in _LITERAL.findall(body)]
    said = [word for word in said if len(word) > 1]
    if not said:
        return ""
    lines = [line.strip() for line in text.split("\n")]
    return next((line[:200] for line in lines if any(word in line for word in said)), "")


def _made_something(failed: str, text: str) -> bool:
    """Whether a value was printed after what went wrong."""
    last = text[text.rfind(failed) + len(failed) :].rstrip().rpartition("\n")[2]
    return bool(_VALUE.search(last)) and not endings.is_bad(last) and not signs.is_minor(last)


def _of_answer(code: str, output: str) -> str:
    """What a server answered to code that asked it."""
    if not (output.startswith("<Response [") or _has(code, _ASKS_A_SERVER)):
        return ""
    first = output[:4000].strip().partition("\n")[0][:2000]
    if hit := _STATUS.search(first):
        status = int(next(one for one in hit.groups() if one))
        return "" if answers.is_expected(status, code) else f"HTTP status {status}"
    at = first.find("{")
    found = answers.parsed(first[at:]) or _literal(first[at:]) if 0 <= at <= 12 else None
    return answers.body(found, writes=".post(" in code or ".put(" in code) if found else ""


def _literal(text: str) -> Json:
    """What Python prints of a dictionary."""
    try:
        found: Json = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


# -- fetches --------------------------------------------------------------------------------


class _Fetch(NamedTuple):
    """What a fetching command asks for."""

    asks_status: bool
    sends: bool
    keeps: bool  # in a file of its own
    is_piped: bool  # or saved: what is printed is not the body
    url: str


@lru_cache(maxsize=1024)
def _fetch(command: str) -> _Fetch:
    sends = bool(_SENDS.search(command)) and not ("graphql" in command and "mutation" not in command)
    is_piped = bool(_TO_FILE.search(command)) or "|" in command
    hit = _URL.search(command)
    return _Fetch(shells.asks_status(command), sends, bool(_KEEPS.search(command)), is_piped, hit[0] if hit else "")


def _of_fetch(call: Call, command: str, said: signs.Told) -> str:
    """An answer over HTTP: its status if it shows one, its body if that is JSON, its title if it is a page."""
    asked, output = _fetch(command), said.whole
    if asked.asks_status:
        return _of_status(call, command, asked, output)
    body = output
    if "HTTP/" in output[:4000] and (status := answers.status_line(output)):
        if why := answers.refused(status, call.about, writes=asked.sends):
            return why
        body = _BLANK_LINE.split(output)[-1]
    if (purpose := call.purpose) and answers.is_expected(0, purpose):
        return ""
    given = _body_in(body)
    if given.startswith(("<", "{")) or answers.parsed(given) is not None:
        return answers.body(given, writes=asked.sends, asked=asked.url)
    if (endings.is_telling(said) or "|| echo" in command) and (why := _of_command(command, said)):
        return why
    return "" if asked.is_piped else answers.body(given, writes=asked.sends, asked=asked.url)


def _of_status(call: Call, command: str, asked: _Fetch, output: str) -> str:
    """A fetch that asks for the status. A 404 answers who only looked; not who sent something, or wanted the body."""
    if why := signs.complaint(output, command):
        return _quoted(why)
    after_body = _SHOWN.search(output)
    hit = after_body or _LAST_STATUS.search(output)
    status = int(hit[1]) if hit else answers.status_line(output) or -1
    looks = not asked.sends and not asked.keeps and not after_body
    return answers.refused(status or 599, call.about, looks=looks, writes=True) if status == 0 or status >= 400 else ""


def _body_in(text: str) -> str:
    """The body without what the fetching program said before it got there."""
    lines = text.strip().split("\n")[:200]
    while len(lines) > 1 and (_NOISE.match(lines[0]) or not lines[0].strip()):
        lines = lines[1:]
    return "\n".join(lines).strip() if len(text) < 200_000 else text[:200_000]


def _last_line(text: str) -> str:
    return text.rstrip()[-400:].rpartition("\n")[2]


def _quoted(line: str) -> str:
    words = " ".join(line.split())
    return f"it says: {words if len(words) <= 120 else words[:119] + '…'}" if words else ""
