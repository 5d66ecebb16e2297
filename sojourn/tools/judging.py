"""Commands that are always asked about, whatever was allowed before: the table `dangers.toml`, applied.

The line is read as a shell reads it (shell_words.py), so quotes, `$IFS` and the like do not hide anything;
programs that start others (sudo, xargs, sh -c, find -exec …) are looked through (wrappers.py). This is a net for
accidents and for a misled model, not a wall: what may run at all can do harm in ways no table knows.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from sojourn.tools.judging_code import dangers_in_python
from sojourn.tools.sensitive import RUNS_LATER, SECRET, Places, why_special
from sojourn.tools.shell_words import UNKNOWN, Command, Script, read_script
from sojourn.tools.wrappers import SHELLS, started_by

SYSTEM = r"/(?:etc|usr|bin|sbin|lib\w*|boot|sys|proc|root|opt|var|System|Library|Applications)(?:/|(?=\s)|$)"
DEVICE = r"/dev/(?!null\b|zero\b|std(?:in|out|err)\b|tty\b|fd/|shm/|u?random\b|tcp/|udp/)\S*"
_NAMES = {
    "<system>": SYSTEM,
    "<device>": DEVICE,
    "<wide>": r"\s(?:/|~|\.|\.\.|\*|\./|\.\./|\./\*|~/|/\*|~/\*|\.\*|\.\./\*)(?=\s)",
    "<sql>": r"(?i:\bdrop\s+(?:table|database|schema|index|view|user)\b|\btruncate\s)"
    r"|(?i:\bdelete\s+from\s+[\w.\"`]+\s*(?:;|$))",
    "<unknown>": UNKNOWN,
}
REBUILT = re.compile(  # what a build makes again: deleting it is no loss
    r"(?:\./)?(?:[\w-][\w.-]*/){0,4}(?:node_modules|build|dist|out|target|coverage|htmlcov|__pycache__|\.pytest_cache|"
    r"\.mypy_cache|\.ruff_cache|\.tox|\.nox|\.next|\.nuxt|\.parcel-cache|\.turbo|\.gradle|[\w.-]+\.egg-info)/?(?:\*)?"
)
_TREE = "deletes folders with everything in them"
_HIDDEN = "is written so that it cannot be checked"
_PIPED = "runs what another command puts out"
_APART = re.compile(r"-[A-Za-z]{2,}")
_LONG_OPTIONS = frozenset({"find", "fd", "fdfind", "dd", "tar", "gpg", "openssl", "java", "terraform", "tofu", "gdb"})
_INTERPRETER = re.compile(r"(?:python|pypy|perl|ruby|node|php|lua)[\d.]*|eval|source|\.")
_PREFIXED = frozenset({"exec", "nohup", "env", "timeout", "xargs", "setsid", "make", "time", "nice"})
_NAMES_FILE = re.compile(r"-\w*[oO]|--output(-document)?")
_SETS = re.compile(
    r"LD_\w+|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|PYTHONSTARTUP|PERL5OPT|NODE_OPTIONS|GIT_\w*(?:SSH|EDITOR|PAGER)\w*|IFS"
)
_BOMB = re.compile(r"(?:^|[;&|{\s])([\w:.-]+)\s*\(\)\s*\{[^}]*?\1\s*\|\s*\1\s*&")
_ENDLESS = re.compile(r"(?:while\s+(?:true|:|\[\s*1\s*\]|1)|for\s*\(\(;;\)\))\s*;?\s*do\b[^\n]*[^&]&\s*;?\s*done")
LONGEST = 200_000


@dataclass(frozen=True, slots=True)
class Danger:
    """One row of the table."""

    programs: re.Pattern[str]
    arguments: re.Pattern[str]
    why: str
    but: re.Pattern[str] | None = None


def _pattern(raw: str) -> re.Pattern[str]:
    for name, meant in _NAMES.items():
        raw = raw.replace(name, meant)
    return re.compile(raw)


def read_table(text: str) -> tuple[Danger, ...]:
    """The rows of `dangers.toml`."""
    return tuple(
        Danger(
            _pattern("|".join(f"(?:{one})" for one in row["programs"].split(" "))),
            _pattern(row.get("arguments", "")),
            row["why"],
            _pattern(row["but"]) if "but" in row else None,
        )
        for row in tomllib.loads(text)["danger"]
    )


DANGERS = read_table(Path(__file__).with_name("dangers.toml").read_text("utf-8"))


def dangers_in(command: str) -> list[str]:
    """Why a command line is always asked about; nothing when it is not."""
    if len(command) > LONGEST:
        return ["is too long to be checked"]
    found: dict[str, None] = {}
    if _BOMB.search(command) or _ENDLESS.search(command):
        found["starts processes without end"] = None
    try:
        _judge(read_script(command), found, 0)
    except RecursionError:
        found[_HIDDEN] = None
    return list(found)


def dangers_in_code(code: str) -> list[str]:
    """The same for Python."""
    return dangers_in_python(code, dangers_in)


def _judge(script: Script, found: dict[str, None], depth: int) -> None:
    if script.broken or depth > 6:
        found[_HIDDEN] = None
        return
    fetched: set[str] = set()
    for command in script.commands:
        found.update(dict.fromkeys(_in_command(command)))
        if fetched & _run_by(command):
            found["runs something it has just written or fetched"] = None
        fetched |= _fetches(command)
        for one in started_by(command):
            _judge(read_script(one) if isinstance(one, str) else Script([one]), found, depth + 1)


def _in_command(command: Command) -> list[str]:
    """What is dangerous about one program and its arguments."""
    found = [why for operator, target in command.redirects if (why := _about_target(operator, target))]
    found += [f"sets {name}, which changes what other programs do" for name in command.sets if _SETS.fullmatch(name)]
    if not command.words:
        return found
    name, words = command.words[0].rpartition("/")[2], command.words[1:]
    found += _from_table(name, words)
    if UNKNOWN in name or (re.search(r"[*?\[]", name) and name not in ("[", "[[", "?")):
        found.append("hides the name of the program it starts")
    if (name in SHELLS or _INTERPRETER.fullmatch(name)) and (_from_pipe(command) or UNKNOWN in " ".join(words[:2])):
        found.append(_PIPED)
    if re.fullmatch(r"(?:python|pypy)[\d.]*", name) and "-c" in words[:-1]:
        found += dangers_in_code(words[words.index("-c") + 1])
    elif re.fullmatch(r"(?:python|pypy)[\d.]*", name) and command.fed:
        found += dangers_in_code(command.fed)
    if any(first(SECRET, word) for word in words):
        found.append("reads keys or passwords")
    return found


def _from_table(name: str, words: list[str]) -> list[str]:
    arguments = _canonical(name, words)
    found = [
        row.why
        for row in DANGERS
        if row.programs.fullmatch(name)
        and row.arguments.search(arguments)
        and not (row.but and row.but.search(arguments))
    ]
    targets = [word for word in words if not word.startswith("-")]
    if _TREE in found and targets and all(REBUILT.fullmatch(one) and ".." not in one for one in targets):
        found.remove(_TREE)
    return found


def _canonical(name: str, words: list[str]) -> str:
    """The arguments as the table wants them. A word with spaces in it stays one: a message is not an option."""
    apart = name not in _LONG_OPTIONS
    shown = [
        " ".join(f"-{letter}" for letter in word[1:]) if apart and _APART.fullmatch(word) else word.replace(" ", "\xa0")
        for word in words
    ]
    return f" {' '.join(shown)} "


def _from_pipe(command: Command) -> bool:
    """Whether an interpreter gets its program from a pipe."""
    own = [word for word in command.words[1:] if not word.startswith("-") or word == "-"]
    given = any(word in ("-c", "-e", "-m", "--version") for word in command.words[1:])
    return command.piped and not given and (not own or own[0] == "-" or own[0].startswith("/dev/"))


def _about_target(operator: str, target: str) -> str:
    if target.startswith(("/dev/tcp/", "/dev/udp/")):
        return "opens a bare connection"
    if operator in ("<", "<&"):
        return "reads keys or passwords" if first(SECRET, target) else ""
    if re.match(DEVICE, target):
        return "writes over a device"
    if re.match(SYSTEM, target):
        return "changes the system"
    return "writes what is run later, or where keys are kept" if first(RUNS_LATER + SECRET, target) else ""


def first(table: Places, word: str) -> str:
    """The first reason of a table of places that a word names one of."""
    seen = word if word.startswith("/") else "/" + word.rpartition("=")[2].lstrip("@").removeprefix("~/")
    return why_special(table, seen)


def _run_by(command: Command) -> set[str]:
    """The names of files a command runs: itself, or what an interpreter or `chmod +x` is given."""
    if not command.words:
        return set()
    name = command.words[0].rpartition("/")[2]
    runs = name in SHELLS or _INTERPRETER.fullmatch(name) or name in _PREFIXED or name == "chmod"
    return {word.rpartition("/")[2] for word in (command.words if runs else command.words[:1])}


def _fetches(command: Command) -> set[str]:
    """The names of files a command writes or fetches."""
    words = command.words
    named = [target for operator, target in command.redirects if operator.startswith((">", "&>"))]
    name = words[0].rpartition("/")[2] if words else ""
    if name in ("curl", "wget"):
        named += [words[at + 1] for at, word in enumerate(words[:-1]) if _NAMES_FILE.fullmatch(word)]
        named += [word for word in words[1:] if "://" in word]
    elif name == "tee":
        named += words[1:]
    return {one.rstrip("/").rpartition("/")[2] for one in named if not one.startswith("-")} - {"", "null"}
