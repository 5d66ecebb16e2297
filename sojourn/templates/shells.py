"""What a command line is about: whether it only looks at things, asks yes or no, or fetches something."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import lru_cache

from sojourn.core.messages import Json

_PARTS = re.compile(r"\s*(?:&&|\|\||;|\||\n|&(?!\d))\s*")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BEFORE = _set("sudo time nohup env exec command xargs nice timeout")
_READERS = _set(
    "cat head tail less more grep egrep fgrep rg ag sed awk ls dir tree find fd wc sort uniq cut tr jq yq echo printf "
    "journalctl dmesg stat file du df ps pwd cd date env printenv history strings xxd od nl column tac rev bat which "
    "whereis type true"
)
_READS = {
    "git": _set("log show diff blame grep status branch tag remote ls-files shortlog stash"),
    "docker": _set("logs ps images inspect"),
    "kubectl": _set("get describe logs top"),
    "systemctl": _set("status list-units is-active is-enabled is-failed show"),
    "npm": _set("ls list view outdated"),
    "pip": _set("list show freeze"),
}
# Programs that answer a question with their exit code: 1 is their no.
_ANSWERS = _set("grep egrep fgrep rg ag zgrep diff cmp test [ [[ which type hash pgrep expr pidof")
_ANSWERING = {
    ("git", "diff"): {1}, ("git", "grep"): {1}, ("git", "merge-base"): {1}, ("git", "show-ref"): {1},
    ("git", "check-ignore"): {1}, ("systemctl", "is-active"): {1, 3, 4}, ("systemctl", "is-enabled"): {1},
    ("systemctl", "status"): {3}, ("systemctl", "is-failed"): {1}, ("npm", "outdated"): {1},
}  # fmt: skip
_FETCHERS = frozenset({"curl", "wget", "http", "https", "httpie", "xh"})


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a line: its program, the word after it, and everything."""

    program: str
    verb: str
    words: tuple[str, ...]


def command_of(given: Json) -> str:
    """The command line in a call's arguments; Codex gives a list that hands it to a shell."""
    if not isinstance(given, list):
        return str(given or "")
    words = [str(word) for word in given]
    if len(words) == 3 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh") and words[1] in ("-c", "-lc"):
        return words[2]
    return " ".join(words)


@lru_cache(maxsize=4096)
def steps(command: str) -> tuple[Step, ...]:
    """The commands of a line, in order. Quotes are respected as far as they close."""
    found = []
    for part in _PARTS.split(_unquoted(command)):
        words = [word for word in part.split() if not re.fullmatch(r"[A-Za-z_]\w*=\S*", word)]
        while words and words[0] in _BEFORE:
            words = words[1:]
            while words and (words[0].startswith("-") or words[0].isdigit()):
                words = words[1:]
        if words:
            verb = next((word for word in words[1:] if not word.startswith("-")), "")
            found.append(Step(words[0].rpartition("/")[2], verb, tuple(words)))
    return tuple(found)


def _unquoted(command: str) -> str:
    """The command with what is quoted made into one harmless word: a `|` in quotes is no pipe."""
    return re.sub(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", "…", command[:4000])


def only_reads(command: str) -> bool:
    """Whether nothing in it does more than look: then words about errors are what it looked at."""
    found = steps(command)
    return bool(found) and all(
        step.program in _READERS or step.verb in _READS.get(step.program, frozenset()) for step in found
    )


def is_answer(command: str, code: int) -> bool:
    """Whether this exit code is how the program says no, not that it failed."""
    found = steps(command)
    if not found:
        return False
    last = found[-1]
    return code in _ANSWERING.get((last.program, last.verb), {1} if last.program in _ANSWERS else set())


def fetches(command: str) -> bool:
    return any(step.program in _FETCHERS for step in steps(command))


def asks_status(command: str) -> bool:
    """Whether a fetch wants the status itself, so that a 404 is an answer."""
    return bool(re.search(r"(?:^|\s)(?:-[a-zA-Z]*I\b|--head\b|-w\b|--write-out\b|--spider\b)", command)) or bool(
        re.search(r"\bhttps?\s+(?:--\S+\s+)*HEAD\b|-X\s*HEAD\b", command)
    )


def skeleton(command: str) -> str:
    """What kind of command this is: the program and its verb, without what varies from run to run."""
    found = steps(command)
    if not found:
        return ""
    step = next((one for one in found if one.program not in ("cd", "echo", "export", "source", "set")), found[0])
    verb = step.verb if re.fullmatch(r"[a-z][a-z-]{1,15}", step.verb) else ""
    return f"{step.program} {verb}".strip()


def words(command: str) -> list[str]:
    """The words of a command; what cannot be split stays whole."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
