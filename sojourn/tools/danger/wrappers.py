"""Wrapper programs (sudo, xargs, sh -c, find -exec …): which commands they start, so that these are judged too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from sojourn.text.shell import Command

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash"})
# A wrapper, and which of its one-letter options take a value.
_OPTIONS_WITH_VALUE: dict[str, str] = dict(
    re.findall(
        r"(\S+):(\w*)",
        "sudo:ugphCDRTr doas:uC env:uSC nohup: nice:n ionice:cnp time:fo timeout:ks stdbuf:ioe setsid: exec:a "
        "command: coproc: builtin: !: xargs:IdEnPLsa chroot: busybox: unshare: strace:eop watch:nd parallel:jN "
        "flock:wE chrt: taskset:c caffeinate: proxychains: toybox:",
    )
)
_TAKES_OPERAND_FIRST = {"timeout", "chroot", "taskset", "flock", "chrt"}  # a time, a folder, a mask …
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)


def list_started_commands(command: Command) -> Iterator[Command | str]:
    """Yields the commands that a wrapper starts, in words or as a text for a shell."""
    if not command.words:
        return
    name, rest = command.words[0].rpartition("/")[2], command.words[1:]
    if name in SHELLS:
        yield from _commands_of_shell(command, rest)
    elif name == "eval":
        yield " ".join(rest)
    elif name in _OPTIONS_WITH_VALUE:
        inner = _skip_options(rest, _OPTIONS_WITH_VALUE[name], skip=name in _TAKES_OPERAND_FIRST)
        inside = replace(command, words=inner, assignments={}, redirects=[], piped=command.piped and name != "xargs")
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
        yield " ".join(_skip_options(rest, "bcDEeFIiJLlmOopQRSWw", skip=True))
    elif name in ("trap", "alias"):
        yield rest[0].partition("=")[2] if name == "alias" and rest else " ".join(rest[:1])
    elif name in ("find", "fd", "fdfind"):
        yield from _commands_of_find(command, rest)


def _commands_of_shell(command: Command, rest: list[str]) -> Iterator[Command | str]:
    for at, word in enumerate(rest[:-1]):
        if re.fullmatch(r"-[a-z]*c[a-z]*", word):
            yield next((one for one in rest[at + 1 :] if not one.startswith("-")), "")
            return
    if command.stdin_text and (not rest or all(word.startswith("-") for word in rest)):
        yield command.stdin_text


def _commands_of_find(command: Command, rest: list[str]) -> Iterator[Command]:
    for at, word in enumerate(rest):
        if word in ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"):
            inner = rest[at + 1 :]
            stop = next((n for n, one in enumerate(inner) if one in (";", "+")), len(inner))
            yield replace(command, words=inner[:stop], assignments={}, redirects=[], piped=False)


def _skip_options(words: list[str], with_value: str, *, skip: bool) -> list[str]:
    at = 0
    while at < len(words) and (words[at].startswith("-") or _ASSIGNMENT.fullmatch(words[at])):
        if words[at] == "--":
            at += 1
            break
        takes = words[at].startswith("-") and len(words[at]) == 2 and words[at][1] in with_value
        at += 2 if takes else 1
    return words[at + 1 :] if skip else words[at:]
