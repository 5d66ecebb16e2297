"""Classifies command lines: whether they only read, answer yes or no, fetch, or run a script."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from sojourn.text.shell import parse_script


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLAIN = re.compile(r"[\w./:@%+, -]*")
_FOLDER_SEPARATOR = re.compile(r"\\(?=\w)")  # of Windows; a shell would drop it
_VERB = re.compile(r"[a-z][a-z-]{1,15}")
_PREFIXES = _words("sudo time nohup env exec xargs nice timeout gtimeout stdbuf")
_PREFIX_OPTIONS = _words("-u -g -I --user --group")  # those that take a word: `sudo -u postgres psql`
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_READERS = _words(
    "cat head tail less more grep egrep fgrep rg ag ack sed awk ls dir tree find fd wc sort uniq cut tr jq yq echo "
    "printf journalctl dmesg stat file du df ps pwd cd date env printenv history strings xxd od nl column tac rev bat "
    "which whereis where type true zcat zgrep findstr get-content gc select-string get-childitem hexdump md5sum "
    "sha256sum command uname hostname lsof comm diff cmp man"
)
_READ_VERBS = {
    "git": "log show diff blame grep status branch tag remote ls-files shortlog stash",
    "docker": "logs ps images inspect compose",
    "kubectl": "get describe logs top",
    "systemctl": "status list-units is-active is-enabled is-failed show",
    "npm": "ls list view outdated",
    "pip": "list show freeze",
    "gh": "run pr issue release",
}
# Programs that answer a question with exit code 1.
_PREDICATES = _words(
    "grep egrep fgrep rg ag ack zgrep findstr diff cmp fc comm test [ [[ which where type command hash pgrep expr "
    "pidof lsof locate mountpoint colordiff sdiff"
)
_PREDICATE_VERBS = {
    "git": "diff grep merge-base show-ref check-ignore ls-remote",
    "systemctl": "is-active is-enabled is-failed status",
    "getent": "passwd",
    "npm": "outdated",
}
_NO_CODES = (1, 2, 3, 4)
_FETCHERS = _words("curl wget http https httpie xh Invoke-WebRequest iwr")
_TIME_LIMIT = re.compile(r"(?:^|[\s;&|(])g?timeout\s+(?:-\S+\s+)*[\d.]+[smhd]?\s")
_REMOTE = re.compile(
    r"(?:ssh|docker exec|kubectl exec|podman exec)\s[^'\"|;&]{1,200}?(['\"])(.{1,2000})\1\s*$", re.DOTALL
)
_SCRIPT = re.compile(r"^\./|\.(?:sh|bash|ps1|bat|cmd|py|js|ts|rb|pl)$|^[\w./-]*/(?:bin|scripts|tools)/")
_STATUS_PROBE = re.compile(
    r"(?:^|\s)(?:-[a-zA-Z]*I\b|--head\b|-w\b|--write-out\b|--spider\b)|\bhttps?\s+(?:--\S+\s+)*HEAD\b|-X\s*HEAD\b"
)
_STOP_CODES = frozenset({124, 130, 137, 143})
_BROKEN_PIPE = 141
_PARSED_CHARACTERS = 4000


class Step(NamedTuple):
    """One command of a line: its program, its first word that is no option, all words, and what joins it to the one
    before (see `text.shell.Command`)."""

    program: str
    verb: str
    words: tuple[str, ...]
    operator: str = ""


@lru_cache(maxsize=4096)
def parse_steps(command: str) -> tuple[Step, ...]:
    """The commands of a line, in order, without prefixes such as `sudo`; none if a shell would not accept it."""
    if _PLAIN.fullmatch(command):  # ten times as fast as the grammar: mining reads every command of a history
        return _strip_prefixes(command.split(), "")
    parsed = parse_script(_FOLDER_SEPARATOR.sub("/", command[:_PARSED_CHARACTERS])).commands
    return tuple(step for one in parsed for step in _strip_prefixes(one.words, one.operator))


def _strip_prefixes(words: list[str], operator: str) -> tuple[Step, ...]:
    while words and words[0] in _PREFIXES:
        words = words[1:]
        while words and (words[0].startswith("-") or _DURATION.fullmatch(words[0])):
            words = words[2 if words[0] in _PREFIX_OPTIONS else 1 :]
    verb = next((word for word in words[1:] if not word.startswith("-")), "")
    return (Step(words[0].rpartition("/")[2], verb, tuple(words), operator),) if words else ()


@lru_cache(maxsize=4096)
def only_reads(command: str) -> bool:
    """Whether every step only reads, so that words about errors are content."""
    steps = parse_steps(command)
    return bool(steps) and all(
        step.program.lower() in _READERS or step.verb in _READ_VERBS.get(step.program, "").split() for step in steps
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
    return code in _NO_CODES and last.verb in _PREDICATE_VERBS.get(last.program, "").split()


def is_sequence(command: str) -> bool:
    """Whether later steps run even if earlier ones fail."""
    return any(step.operator in (";", "\n", "||") for step in parse_steps(command))


def runs_script(command: str) -> bool:
    """Whether the last step is a script, which fails in its own words."""
    steps = parse_steps(command)
    return bool(steps) and any(_SCRIPT.search(word) for word in steps[-1].words[:3])


def unwrap_remote(command: str) -> str:
    """The command that ssh or a container runs."""
    hit = _REMOTE.match(command[:_PARSED_CHARACTERS])
    return hit[2] if hit else command


def fetches(command: str) -> bool:
    return any(step.program in _FETCHERS for step in parse_steps(command))


def asks_for_status(command: str) -> bool:
    """Whether a fetch prints the HTTP status, so that 404 is an answer."""
    return bool(_STATUS_PROBE.search(command))


@lru_cache(maxsize=4096)
def skeleton(command: str) -> str:
    """The program and its verb, without what varies from run to run."""
    steps = parse_steps(command)
    if not steps:
        return ""
    step = next((one for one in steps if one.program not in ("cd", "echo", "export", "source", "set")), steps[0])
    return f"{step.program} {step.verb if _VERB.fullmatch(step.verb) else ''}".strip()
