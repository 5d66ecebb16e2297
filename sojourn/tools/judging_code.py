"""What a piece of Python deletes, and the commands it starts, as far as they stand in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from sojourn.tools.sensitive import SECRET, why_special
from sojourn.tools.shell_words import UNKNOWN

_RUNS = re.compile(
    r"os\.(?:system|popen|exec\w*|spawn\w*)|(?:subprocess\.)?(?:run|Popen|call|check_output|check_call|getoutput)"
    r"|subprocess\.getstatusoutput|pty\.spawn|system|popen|asyncio\.create_subprocess_\w+"
)
_DELETES = re.compile(r"(?:shutil\.)?rmtree|os\.removedirs")
_HIDES = re.compile(r"b64decode|a85decode|decompress|fromhex|unhexlify|urlopen|requests\.|httpx\.|codecs\.decode")
_DEEP = re.compile(r"os\.(?:dup2|setuid|fork|forkpty)|pty\.spawn|ctypes\.\w+")


def dangers_in_python(code: str, judge: Callable[[str], list[str]]) -> list[str]:
    """Why it is always asked about. `judge` does the same for a command line."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # Python will not run it either
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found.update(dict.fromkeys(_in_call(node, judge)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_secret_place(node.value):
            found["reads keys or passwords"] = None
    return list(found)


def _in_call(call: ast.Call, judge: Callable[[str], list[str]]) -> list[str]:
    called = ast.unparse(call.func)
    if _DELETES.fullmatch(called):
        return ["deletes folders with everything in them"]
    if _DEEP.fullmatch(called):
        return ["works on processes or memory directly"]
    if called in ("exec", "eval", "__import__") and call.args and not isinstance(call.args[0], ast.Constant):
        return ["runs what another command puts out"] if _HIDES.search(ast.unparse(call)) else []
    if called in ("os.kill", "os.killpg") and call.args and ast.unparse(call.args[0]) in ("-1", "0", "1"):
        return ["ends every process there is"]
    if _RUNS.fullmatch(called) and call.args:
        return judge(_line(call.args))
    return []


def _line(arguments: list[ast.expr]) -> str:
    """The command a call would start, quoted so that each word stays one; what is not known stays open."""
    first = arguments[0]
    if isinstance(first, ast.Constant) and isinstance(first.value, str) and len(arguments) == 1:
        return first.value
    words = first.elts if isinstance(first, (ast.List, ast.Tuple)) else arguments
    return " ".join(_quoted(word) for word in words)


def _quoted(word: ast.expr) -> str:
    if isinstance(word, ast.Constant) and isinstance(word.value, str):
        return "'" + word.value.replace("'", "'\\''") + "'"
    return f"x{UNKNOWN}/x" if not isinstance(word, (ast.List, ast.Tuple)) else " ".join(map(_quoted, word.elts))


def _is_secret_place(text: str) -> bool:
    seen = text if text.startswith("/") else "/" + text.removeprefix("~/")
    return len(text) < 300 and why_special(SECRET, seen) != ""
