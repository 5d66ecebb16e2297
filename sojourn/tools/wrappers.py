"""Programs that start other programs: what they would start, so that it can be judged too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from sojourn.tools.shell_words import Command

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash"})
# A prefix, and which of its options take a word of their own.
_PREFIXES = {
    "sudo": "ugphCDRTr",
    "doas": "uC",
    "env": "uSC",
    "nohup": "",
    "nice": "n",
    "ionice": "cnp",
    "time": "fo",
    "timeout": "ks",
    "stdbuf": "ioe",
    "setsid": "",
    "exec": "a",
    "command": "",
    "builtin": "",
    "xargs": "IdEnPLsa",
    "chroot": "",
    "busybox": "",
    "unshare": "",
    "strace": "eop",
    "watch": "nd",
    "parallel": "jN",
    "flock": "wE",
    "chrt": "",
    "taskset": "c",
    "caffeinate": "",
    "proxychains": "",
    "toybox": "",
    "doas.conf": "",
}
_FIRST_IS_NOT_IT = {"timeout", "chroot", "taskset", "flock", "chrt"}  # a time, a folder, a mask … comes first
_KEYWORDS = frozenset({"do", "then", "else", "elif", "if", "while", "until", "!", "{", "coproc"})
_SET = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)


def started_by(command: Command) -> Iterator[Command | str]:
    """The commands inside a command, in words or as a text for a shell."""
    if not command.words:
        return
    name, rest = command.words[0].rpartition("/")[2], command.words[1:]
    if command.words[0] in _KEYWORDS:
        yield replace(command, words=_after_sets(rest), redirects=[])
    elif name == "function":
        yield replace(command, words=rest[1:], redirects=[])
    elif name in SHELLS:
        yield from _of_shell(command, rest)
    elif name == "eval":
        yield " ".join(rest)
    elif name in _PREFIXES:
        inner = _after_options(rest, _PREFIXES[name], skip=name in _FIRST_IS_NOT_IT)
        inside = replace(command, words=inner, sets={}, redirects=[], piped=command.piped and name != "xargs")
        yield inside
        if any(one.startswith("--") and "=" not in one for one in rest):  # the next word may belong to it
            yield replace(inside, words=inner[1:])
        if name in ("watch", "parallel") and inner:
            yield " ".join(inner)
        if name == "env" and (split := [one for one in rest if one.startswith(("-S", "--split-string="))]):
            yield split[0].removeprefix("--split-string=").removeprefix("-S") or " ".join(rest[1:])
    elif name in ("su", "runuser", "script") and "-c" in rest[:-1]:
        yield rest[rest.index("-c") + 1]
    elif name == "ssh":
        yield " ".join(_after_options(rest, "bcDEeFIiJLlmOopQRSWw", skip=True))
    elif name in ("trap", "alias"):
        yield rest[0].partition("=")[2] if name == "alias" and rest else " ".join(rest[:1])
    elif name in ("find", "fd", "fdfind"):
        yield from _of_find(command, rest)


def _of_shell(command: Command, rest: list[str]) -> Iterator[Command | str]:
    for at, word in enumerate(rest[:-1]):
        if re.fullmatch(r"-[a-z]*c[a-z]*", word):
            yield next((one for one in rest[at + 1 :] if not one.startswith("-")), "")
            return
    if command.fed and (not rest or all(word.startswith("-") for word in rest)):
        yield command.fed


def _of_find(command: Command, rest: list[str]) -> Iterator[Command]:
    for at, word in enumerate(rest):
        if word in ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"):
            inner = rest[at + 1 :]
            stop = next((n for n, one in enumerate(inner) if one in (";", "+")), len(inner))
            yield replace(command, words=inner[:stop], sets={}, redirects=[], piped=False)


def _after_options(words: list[str], with_value: str, *, skip: bool) -> list[str]:
    at = 0
    while at < len(words) and (words[at].startswith("-") or _SET.fullmatch(words[at])):
        if words[at] == "--":
            at += 1
            break
        takes = words[at].startswith("-") and len(words[at]) == 2 and words[at][1] in with_value
        at += 2 if takes else 1
    return words[at + 1 :] if skip else words[at:]


def _after_sets(words: list[str]) -> list[str]:
    first = next((at for at, word in enumerate(words) if not _SET.fullmatch(word)), len(words))
    return words[first:]
