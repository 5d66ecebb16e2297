"""Rules for commands and Python code that are always asked about: the table `rules.toml`, applied.

`text/shell.py` reads the line as a shell does, so quotes, `$IFS` and the like do not hide anything; `wrappers.py`
looks through programs that start others (sudo, xargs, sh -c, find -exec …). Python is judged by its syntax tree: the
folders it deletes, and the commands it starts. This catches accidents and a misled model;
it is no security boundary: a program that may run can do harm in ways no table knows.
"""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from sojourn.text.shell import UNKNOWN, Command, Script, parse_script
from sojourn.tools.danger.wrappers import SHELLS, list_started_commands
from sojourn.tools.sensitive_paths import RUNS_LATER, SECRET, PathRules, find_reason

SYSTEM = r"/(?:etc|usr|bin|sbin|lib\w*|boot|sys|proc|root|opt|var|System|Library|Applications)(?:/|(?=\s)|$)"
DEVICE = r"/dev/(?!null\b|zero\b|std(?:in|out|err)\b|tty\b|fd/|shm/|u?random\b|tcp/|udp/)\S*"
_PLACEHOLDERS = {
    "<system>": SYSTEM,
    "<device>": DEVICE,
    "<wide>": r"\s(?:/|~|\.|\.\.|\*|\./|\.\./|\./\*|~/|/\*|~/\*|\.\*|\.\./\*)(?=\s)",
    "<sql>": r"(?i:\bdrop\s+(?:table|database|schema|index|view|user)\b|\btruncate\s)"
    r"|(?i:\bdelete\s+from\s+[\w.\"`]+\s*(?:;|$))",
    "<unknown>": UNKNOWN,
}
REBUILDABLE = re.compile(  # what a build makes again: deleting it is no loss
    r"(?:\./)?(?:[\w-][\w.-]*/){0,4}(?:node_modules|build|dist|out|target|coverage|htmlcov|__pycache__|\.pytest_cache|"
    r"\.mypy_cache|\.ruff_cache|\.tox|\.nox|\.next|\.nuxt|\.parcel-cache|\.turbo|\.gradle|[\w.-]+\.egg-info)/?(?:\*)?"
)
_DELETES_TREE = "deletes folders and everything in them"
_HIDDEN = "is written so that it cannot be checked"
_RESERVED_WORDS = frozenset({"coproc", "{", "}", "then", "do", "done", "fi", "esac"})  # never a program
_UNCLEAR = "is unclear, because a part of it is known only when it runs"
_READS_SECRETS = "reads keys or passwords"
_RUNS_OUTPUT = "runs the output of another command"
_SHORT_OPTIONS = re.compile(r"-[A-Za-z]{2,}")
_LONG_OPTIONS = frozenset({"find", "fd", "fdfind", "dd", "tar", "gpg", "openssl", "java", "terraform", "tofu", "gdb"})
_INTERPRETER = re.compile(r"(?:python|pypy|perl|ruby|node|php|lua)[\d.]*|eval|source|\.")
_RUNS_ITS_ARGUMENT = frozenset({"exec", "nohup", "env", "timeout", "xargs", "setsid", "make", "time", "nice"})
_OUTPUT_OPTION = re.compile(r"-\w*[oO]|--output(-document)?")
_RISKY_VARIABLES = re.compile(
    r"LD_\w+|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|PYTHONSTARTUP|PERL5OPT|NODE_OPTIONS|GIT_(?=\w*(?:SSH|EDITOR|PAGER))\w+|IFS"
)
_PYTHON_STARTS_PROGRAM = re.compile(
    r"os\.(?:system|popen|exec\w*|spawn\w*)|(?:subprocess\.)?(?:run|Popen|call|check_output|check_call|getoutput)"
    r"|subprocess\.getstatusoutput|pty\.spawn|system|popen|asyncio\.create_subprocess_\w+"
)
_PYTHON_DELETES = re.compile(r"(?:shutil\.)?rmtree|os\.removedirs")
_PYTHON_DECODES = re.compile(
    r"b64decode|a85decode|decompress|fromhex|unhexlify|urlopen|requests\.|httpx\.|codecs\.decode"
)
_PYTHON_LOW_LEVEL = re.compile(r"os\.(?:dup2|setuid|fork|forkpty)|pty\.spawn|ctypes\.\w+")
_BOMB = re.compile(r"(?:^|[;&|{\s])([\w:.-]+)\s*\(\)\s*\{[^}]*?\1\s*\|\s*\1\s*&")
_ENDLESS = re.compile(r"(?:while\s+(?:true|:|\[\s*1\s*\]|1)|for\s*\(\(;;\)\))\s*;?\s*do\b[^\n]*[^&]&\s*;?\s*done")
MAX_COMMAND_CHARS = 200_000
MAX_DEPTH = 6  # of wrappers that start wrappers


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table: a danger of certain programs with certain arguments, `but` not with others."""

    programs: re.Pattern[str]
    arguments: re.Pattern[str]
    why: str
    but: re.Pattern[str] | None = None


def _compile(raw: str) -> re.Pattern[str]:
    for name, meant in _PLACEHOLDERS.items():
        raw = raw.replace(name, meant)
    return re.compile(raw)


def parse_rules(text: str) -> tuple[Rule, ...]:
    """Parses the rows of `rules.toml`."""
    return tuple(
        Rule(
            _compile("|".join(f"(?:{one})" for one in row["programs"].split(" "))),
            _compile(row.get("arguments", "")),
            row["why"],
            _compile(row["but"]) if "but" in row else None,
        )
        for row in tomllib.loads(text)["danger"]
    )


RULES = parse_rules(Path(__file__).with_name("rules.toml").read_text("utf-8"))


def find_dangers(command: str) -> list[str]:
    """Lists the reasons why a command line is always asked about; none when it is not."""
    if len(command) > MAX_COMMAND_CHARS:
        return ["is too long to be checked"]
    found: dict[str, None] = {}
    if _BOMB.search(command) or _ENDLESS.search(command):
        found["starts processes without end"] = None
    try:
        _collect(parse_script(command), found, 0)
    except RecursionError:
        found[_HIDDEN] = None
    return list(found)


def describe_command(command: str) -> list[str]:
    """Lists what a question says about a command line. What could not be resolved is called unclear."""
    found = find_dangers(command)
    return found if not is_unclear(command) else [_UNCLEAR, *(one for one in found if one != _HIDDEN)]


def is_unclear(command: str) -> bool:
    """Whether a part of a command line is known only when it runs, or cannot be read at all."""
    if len(command) > MAX_COMMAND_CHARS:
        return True
    waiting = [(parse_script(command), 0)]
    while waiting:
        script, depth = waiting.pop()
        if script.unclear or depth > MAX_DEPTH or any(map(_has_unknown, script.commands)):
            return True
        for one in (started for known in script.commands for started in list_started_commands(known)):
            waiting.append((parse_script(one) if isinstance(one, str) else Script([one]), depth + 1))
    return False


def _has_unknown(command: Command) -> bool:
    texts = [*command.words, *command.assignments.values(), *(target for _, target in command.redirects)]
    return any(UNKNOWN in one for one in texts) or bool(_RESERVED_WORDS.intersection(command.words[:1]))


def find_code_dangers(code: str) -> list[str]:
    """Lists the reasons why Python code is always asked about; none when it is not."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # Python will not run it either
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found.update(dict.fromkeys(_call_dangers(node)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_secret_path(node.value):
            found[_READS_SECRETS] = None
    return list(found)


def _collect(script: Script, found: dict[str, None], depth: int) -> None:
    if script.unclear or depth > MAX_DEPTH:
        found[_HIDDEN] = None
    if depth > MAX_DEPTH:
        return
    fetched: set[str] = set()
    for command in script.commands:
        found.update(dict.fromkeys(_command_dangers(command)))
        if fetched & _executed_files(command):
            found["runs something it has just written or fetched"] = None
        fetched |= _written_files(command)
        for one in list_started_commands(command):
            _collect(parse_script(one) if isinstance(one, str) else Script([one]), found, depth + 1)


def _command_dangers(command: Command) -> list[str]:
    """Lists the dangers of one program with its arguments."""
    found = [why for operator, target in command.redirects if (why := _redirect_danger(operator, target))]
    found += [
        f"sets {name}, which changes what other programs do"
        for name in command.assignments
        if _RISKY_VARIABLES.fullmatch(name)
    ]
    if not command.words:
        return found
    name, words = command.words[0].rpartition("/")[2], command.words[1:]
    found += _table_dangers(name, words)
    if UNKNOWN in name or (re.search(r"[*?\[]", name) and name not in ("[", "[[", "?")):
        found.append("hides the name of the program it starts")
    if (name in SHELLS or _INTERPRETER.fullmatch(name)) and (
        _runs_piped_program(command) or UNKNOWN in " ".join(words[:2])
    ):
        found.append(_RUNS_OUTPUT)
    if re.fullmatch(r"(?:python|pypy)[\d.]*", name):
        code = words[words.index("-c") + 1] if "-c" in words[:-1] else command.stdin_text
        found += find_code_dangers(code)
    if any(special_reason(SECRET, word) for word in words):
        found.append(_READS_SECRETS)
    return found


def _table_dangers(name: str, words: list[str]) -> list[str]:
    arguments = _canonical_arguments(name, words)
    found = [
        row.why
        for row in RULES
        if row.programs.fullmatch(name)
        and row.arguments.search(arguments)
        and not (row.but and row.but.search(arguments))
    ]
    targets = [word for word in words if not word.startswith("-")]
    if _DELETES_TREE in found and targets and all(REBUILDABLE.fullmatch(one) and ".." not in one for one in targets):
        found.remove(_DELETES_TREE)
    return found


def _canonical_arguments(name: str, words: list[str]) -> str:
    """Renders arguments as the table matches them. A word with spaces stays one word: a message is not an option."""
    apart = name not in _LONG_OPTIONS
    shown = [
        " ".join(f"-{letter}" for letter in word[1:])
        if apart and _SHORT_OPTIONS.fullmatch(word)
        else word.replace(" ", "\xa0")
        for word in words
    ]
    return f" {' '.join(shown)} "


def _runs_piped_program(command: Command) -> bool:
    """True when an interpreter gets its program from a pipe."""
    own = [word for word in command.words[1:] if not word.startswith("-") or word == "-"]
    has_program = any(word in ("-c", "-e", "-m", "--version") for word in command.words[1:])
    return command.piped and not has_program and (not own or own[0] == "-" or own[0].startswith("/dev/"))


def _redirect_danger(operator: str, target: str) -> str:
    if target.startswith(("/dev/tcp/", "/dev/udp/")):
        return "opens a raw network connection"
    if operator in ("<", "<&"):
        return _READS_SECRETS if special_reason(SECRET, target) else ""
    if re.match(DEVICE, target):
        return "writes over a device"
    if re.match(SYSTEM, target):
        return "changes the system"
    return "writes what is run later, or where keys are kept" if special_reason(RUNS_LATER + SECRET, target) else ""


def special_reason(table: PathRules, word: str) -> str:
    """Returns the reason of the first path rule that fits a word of a command; empty when none does."""
    seen = word if word.startswith("/") else "/" + word.rpartition("=")[2].lstrip("@").removeprefix("~/")
    return find_reason(table, seen)


def _executed_files(command: Command) -> set[str]:
    """Returns the names of the files a command executes: itself, or those an interpreter or `chmod +x` gets."""
    if not command.words:
        return set()
    name = command.words[0].rpartition("/")[2]
    runs = name in SHELLS or _INTERPRETER.fullmatch(name) or name in _RUNS_ITS_ARGUMENT or name == "chmod"
    return {word.rpartition("/")[2] for word in (command.words if runs else command.words[:1])}


def _written_files(command: Command) -> set[str]:
    """Returns the names of files a command writes or fetches."""
    words = command.words
    named = [target for operator, target in command.redirects if operator.startswith((">", "&>"))]
    name = words[0].rpartition("/")[2] if words else ""
    if name in ("curl", "wget"):
        named += [words[at + 1] for at, word in enumerate(words[:-1]) if _OUTPUT_OPTION.fullmatch(word)]
        named += [word for word in words[1:] if "://" in word]
    elif name == "tee":
        named += words[1:]
    return {one.rstrip("/").rpartition("/")[2] for one in named if not one.startswith("-")} - {"", "null"}


def _call_dangers(call: ast.Call) -> list[str]:
    called = ast.unparse(call.func)
    if _PYTHON_DELETES.fullmatch(called):
        return [_DELETES_TREE]
    if _PYTHON_LOW_LEVEL.fullmatch(called):
        return ["works on processes or memory directly"]
    if called in ("exec", "eval", "__import__") and call.args and not isinstance(call.args[0], ast.Constant):
        return [_RUNS_OUTPUT] if _PYTHON_DECODES.search(ast.unparse(call)) else []
    if called in ("os.kill", "os.killpg") and call.args and ast.unparse(call.args[0]) in ("-1", "0", "1"):
        return ["ends every process"]
    if _PYTHON_STARTS_PROGRAM.fullmatch(called) and call.args:
        return find_dangers(_command_line(call.args))
    return []


def _command_line(arguments: list[ast.expr]) -> str:
    """Renders the command line a call would start, each word quoted; an argument that is no literal is UNKNOWN."""
    first = arguments[0]
    if isinstance(first, ast.Constant) and isinstance(first.value, str) and len(arguments) == 1:
        return first.value
    words = first.elts if isinstance(first, (ast.List, ast.Tuple)) else arguments
    return " ".join(_quote(word) for word in words)


def _quote(word: ast.expr) -> str:
    if isinstance(word, ast.Constant) and isinstance(word.value, str):
        return "'" + word.value.replace("'", "'\\''") + "'"
    return f"x{UNKNOWN}/x" if not isinstance(word, (ast.List, ast.Tuple)) else " ".join(map(_quote, word.elts))


def _is_secret_path(text: str) -> bool:
    seen = text if text.startswith("/") else "/" + text.removeprefix("~/")
    return len(text) < 300 and find_reason(SECRET, seen) != ""
