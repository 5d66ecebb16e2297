"""Classifies command lines: whether they only read, answer yes or no, fetch, or run a script."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sojourn.lazy import Lazy
from sojourn.templates.judge.phrases import load_verbs, load_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from sojourn.text.shell import Script, parse_script  # noqa: F401

# The parser loads the shell grammar, which only a command with quotes or operators needs.
PARSE_SCRIPT: Lazy[Callable[[str], Script]] = Lazy("sojourn.text.shell:parse_script")

_PLAIN = re.compile(r"[\w./:@%+, -]*")
_FOLDER_SEPARATOR = re.compile(r"\\(?=\w)")  # of Windows; a shell would drop it
_PREFIXES = load_words("shell", "prefixes")
_PREFIX_OPTIONS = ("-u", "-g", "-I", "--user", "--group")  # those that take a word: `sudo -u postgres psql`
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_READERS = load_words("shell", "readers")
_READ_VERBS = load_verbs("read_verbs")
_PREDICATES = load_words("shell", "predicates")  # they answer a question with exit code 1
_PREDICATE_VERBS = load_verbs("predicate_verbs")
_NO_CODES = (1, 2, 3, 4)
_FETCHERS = load_words("shell", "fetchers")
_TIME_LIMIT = re.compile(r"(?:^|[\s;&|(])g?timeout\s+(?:-\S+\s+)*[\d.]+[smhd]?\s")
_REMOTE = re.compile(
    r"(?:ssh|docker exec|kubectl exec|podman exec)\s[^'\"|;&]{1,200}?(['\"])(.{1,2000})\1\s*$", re.DOTALL
)
_STOP_CODES = frozenset({124, 130, 137, 143})
_BROKEN_PIPE = 141  # exit code
_PARSED_CHARACTERS = 4000


class Step(NamedTuple):
    """One command of a line: its program, its first word that is no option, and all words."""

    program: str
    verb: str
    words: tuple[str, ...]


@lru_cache(maxsize=4096)
def parse_steps(command: str) -> tuple[Step, ...]:
    """The commands of a line, in order, without prefixes such as `sudo`; none if a shell would not accept it."""
    if _PLAIN.fullmatch(command):  # ten times as fast as the grammar: mining reads every command of a history
        return _strip_prefixes(command.split())
    parsed = PARSE_SCRIPT.load()(_FOLDER_SEPARATOR.sub("/", command[:_PARSED_CHARACTERS])).commands
    return tuple(step for one in parsed for step in _strip_prefixes(one.words))


def _strip_prefixes(words: list[str]) -> tuple[Step, ...]:
    while words and words[0] in _PREFIXES:
        words = words[1:]
        while words and (words[0].startswith("-") or _DURATION.fullmatch(words[0])):
            words = words[2 if words[0] in _PREFIX_OPTIONS else 1 :]
    verb = next((word for word in words[1:] if not word.startswith("-")), "")
    return (Step(words[0].rpartition("/")[2], verb, tuple(words)),) if words else ()


@lru_cache(maxsize=4096)
def only_reads(command: str) -> bool:
    """Whether every step only reads, so that words about errors are content."""
    steps = parse_steps(command)
    return bool(steps) and all(
        step.program.lower() in _READERS or step.verb in _READ_VERBS.get(step.program, ()) for step in steps
    )


def answers_with(command: str, code: int, *, is_silent: bool) -> bool:
    """Whether this exit code is the program's "no", or the end of a time limit in the command."""
    steps = parse_steps(command)
    if not steps:
        return False
    last = steps[-1]
    if code in _STOP_CODES:
        return bool(_TIME_LIMIT.search(command[:_PARSED_CHARACTERS]))
    if code == _BROKEN_PIPE:
        return len(steps) > 1 and last.program in _READERS
    if code == 1 and (last.program in _PREDICATES or (is_silent and any(one.program in _PREDICATES for one in steps))):
        return True
    return code in _NO_CODES and last.verb in _PREDICATE_VERBS.get(last.program, ())


def unwrap_remote(command: str) -> str:
    """The command that ssh or a container runs."""
    hit = _REMOTE.match(command[:_PARSED_CHARACTERS])
    return hit[2] if hit else command


def fetches(command: str) -> bool:
    return any(step.program in _FETCHERS for step in parse_steps(command))
