"""What a command line is about: whether it only looks at things, asks yes or no, or fetches something."""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from typing import NamedTuple

from sojourn.core.messages import Json

_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_ASSIGNS = re.compile(r"[A-Za-z_]\w*=\S*")
_VERB = re.compile(r"[a-z][a-z-]{1,15}")
_PARTS = re.compile(r"\s*(?:&&|\|\||;|\||\n|&(?!\d))\s*")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BEFORE = _set("sudo time nohup env exec xargs nice timeout gtimeout stdbuf")
_WITH_A_WORD = _set("-u -g -I --user --group")  # options of these that take one: `sudo -u postgres psql`
_NUMBER = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_READERS = _set(
    "cat head tail less more grep egrep fgrep rg ag ack sed awk ls dir tree find fd wc sort uniq cut tr jq yq echo "
    "printf journalctl dmesg stat file du df ps pwd cd date env printenv history strings xxd od nl column tac rev bat "
    "which whereis where type true zcat zgrep findstr get-content gc select-string get-childitem hexdump md5sum "
    "sha256sum command uname hostname lsof comm diff cmp man"
)
_READS = {
    "git": _set("log show diff blame grep status branch tag remote ls-files shortlog stash"),
    "docker": _set("logs ps images inspect") | {"compose logs", "compose ps"},
    "kubectl": _set("get describe logs top"),
    "systemctl": _set("status list-units is-active is-enabled is-failed show"),
    "npm": _set("ls list view outdated"),
    "pip": _set("list show freeze"),
    "gh": {f"{what} {verb}" for what in ("run", "pr", "issue", "release") for verb in ("view", "list", "checks")},
}
# Programs that answer a question with their exit code: 1 is their no.
_ANSWERS = _set(
    "grep egrep fgrep rg ag ack zgrep findstr diff cmp fc comm test [ [[ which where type command hash pgrep expr "
    "pidof lsof locate mountpoint colordiff sdiff"
)
_ANSWERING = {
    ("git", "diff"): {1},
    ("git", "grep"): {1},
    ("git", "merge-base"): {1},
    ("git", "show-ref"): {1},
    ("git", "check-ignore"): {1},
    ("git", "config"): {1},
    ("git", "ls-remote"): {2},
    ("getent", "passwd"): {2},
    ("systemctl", "is-active"): {1, 3, 4},
    ("systemctl", "is-enabled"): {1},
    ("systemctl", "status"): {3},
    ("systemctl", "is-failed"): {1},
    ("npm", "outdated"): {1},
}
_SEARCHERS = _set("find fd grep egrep fgrep rg ag ack ls tree du zgrep")
_FETCHERS = frozenset({"curl", "wget", "http", "https", "httpie", "xh", "Invoke-WebRequest", "iwr"})
_LIMIT = re.compile(r"(?:^|[\s;&|(])g?timeout\s+(?:-\S+\s+)*[\d.]+[smhd]?\s")  # a limit that the caller set
_RUN_ELSEWHERE = ("ssh ", "docker exec", "kubectl exec", "podman exec")
_ELSEWHERE = re.compile(
    r"(?:ssh|docker exec|kubectl exec|podman exec)\s[^'\"|;&]{1,200}?(['\"])(.{1,2000})\1\s*$", re.DOTALL
)
_SCRIPT = re.compile(r"^\./|\.(?:sh|bash|ps1|bat|cmd|py|js|ts|rb|pl)$|^[\w./-]*/(?:bin|scripts|tools)/")
_ENDLESS = re.compile(
    r"\s(?:-\w*[fFN]\b|--follow|--watch|-w\b)|\b(?:watch|serve|server|dev|start|top|htop|ping|listen|monitor|tcpdump|stream|yes|nc)\b"
)  # what goes on until somebody ends it
_GIVES_UP = re.compile(r"\s(?:-m|--max-time)[\s=]?\d")
STOPPED = frozenset({124, 130, 137, 143})
_CURL_LIMIT = 28
_CUT_SHORT = 141  # the reader at the end of the pipe had enough
_NONE_MATCHED = 123  # xargs: one of its runs said no
_MANY = re.compile(r"[;\n]\s*\S|\|\|")
_REMOVERS = _set("rm rmdir unlink del rd kill pkill killall userdel dropdb")
_REMOVES = {"docker": _set("rm stop kill rmi"), "git": _set("branch worktree"), "kubectl": _set("delete")}


class Step(NamedTuple):
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
        words = [word for word in part.split() if "=" not in word or not _ASSIGNS.fullmatch(word)]
        while words and words[0] in _BEFORE:
            words = words[1:]
            while words and (words[0].startswith("-") or _NUMBER.fullmatch(words[0])):
                words = words[2 if words[0] in _WITH_A_WORD else 1 :]
        if words:
            verb = next((word for word in words[1:] if word[0] != "-"), "")
            found.append(Step(words[0].replace("\\", "/").rpartition("/")[2], verb, tuple(words)))
    return tuple(found)


def _unquoted(command: str) -> str:
    """The command with what is quoted made into one harmless word: a `|` in quotes is no pipe."""
    return _QUOTED.sub("…", command[:4000])


@lru_cache(maxsize=4096)
def only_reads(command: str) -> bool:
    """Whether nothing in it does more than look: then words about errors are what it looked at."""
    found = steps(command)
    return bool(found) and all(step.program.lower() in _READERS or _reads(step) for step in found)


def _reads(step: Step) -> bool:
    verbs = _READS.get(step.program)
    if not verbs:
        return False
    plain = [word for word in step.words[1:] if not word.startswith("-")]
    return step.verb in verbs or " ".join(plain[:2]) in verbs


def is_endless(command: str) -> bool:
    return bool(_ENDLESS.search(command[:4000]))


def reads_many(command: str) -> bool:
    """Whether it goes through many things, so that one that cannot be read is a small part."""
    return only_reads(command) and steps(command)[0].program in _SEARCHERS


def is_answer(command: str, code: int, *, silent: bool = False) -> bool:
    """Whether this exit code is how the program says no, not that it failed; or how it ends at the caller's limit."""
    found = steps(command)
    if not found:
        return False
    if code in STOPPED and _LIMIT.search(command[:4000]):
        return True
    if code == _CURL_LIMIT:
        return not silent and bool(_GIVES_UP.search(command[:4000])) and is_endless(command)
    if code == _CUT_SHORT:
        return len(found) > 1 and found[-1].program in _READERS
    if code == _NONE_MATCHED:
        return silent and "xargs" in command and found[-1].program in _ANSWERS
    if code == 1 and silent and any(step.program in _ANSWERS for step in found):
        return True
    last = found[-1]
    return code in _ANSWERING.get((last.program, last.verb), {1} if last.program in _ANSWERS else set())


def is_chained(command: str) -> bool:
    """Whether steps follow each other whatever became of the one before."""
    return bool(_MANY.search(_unquoted(command)))


def forgives(command: str) -> bool:
    """Whether it is prepared for something that is not there: it clears away first, or says that it does not mind."""
    return is_chained(command) and any(
        step.program in _REMOVERS or step.verb in _REMOVES.get(step.program, ()) for step in steps(command)[:-1]
    )


def is_script(command: str) -> bool:
    """Whether it is somebody's own script that is run: it speaks in its own words."""
    found = steps(command) if "." in command or "/" in command else ()
    return bool(found) and any(("." in word or "/" in word) and _SCRIPT.search(word) for word in found[-1].words[:3])


def inner(command: str) -> str:
    """The command that is run elsewhere: over ssh, or in a container."""
    hit = _ELSEWHERE.match(command[:4000]) if command.startswith(_RUN_ELSEWHERE) else None
    return hit[2] if hit else command


class Look(NamedTuple):
    """What is run in the end, and what its words can tell."""

    line: str
    fetches: bool
    only_reads: bool
    asks: bool  # any few words can tell how it went


@lru_cache(maxsize=4096)
def first_look(command: str) -> Look:
    meant = inner(command)
    asks = "$?" in meant or "|| echo" in meant or "commit" in meant or is_script(meant)
    return Look(meant, fetches(meant), only_reads(meant), asks)


def fetches(command: str) -> bool:
    return any(step.program in _FETCHERS for step in steps(command))


def asks_status(command: str) -> bool:
    """Whether a fetch wants the status itself, so that a 404 is an answer."""
    return bool(re.search(r"(?:^|\s)(?:-[a-zA-Z]*I\b|--head\b|-w\b|--write-out\b|--spider\b)", command)) or bool(
        re.search(r"\bhttps?\s+(?:--\S+\s+)*HEAD\b|-X\s*HEAD\b", command)
    )


@lru_cache(maxsize=4096)
def skeleton(command: str) -> str:
    """What kind of command this is: the program and its verb, without what varies from run to run."""
    found = steps(command)
    if not found:
        return ""
    step = next((one for one in found if one.program not in ("cd", "echo", "export", "source", "set")), found[0])
    verb = step.verb if _VERB.fullmatch(step.verb) else ""
    return f"{step.program} {verb}".strip()


def words(command: str) -> list[str]:
    """The words of a command; what cannot be split stays whole."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
