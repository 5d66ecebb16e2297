"""Dangers in Python code: the folders it deletes and the commands it starts, found in its syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from sojourn.text.shell import UNKNOWN
from sojourn.tools.sensitive_paths import SECRET, find_reason

_STARTS_PROGRAM = re.compile(
    r"os\.(?:system|popen|exec\w*|spawn\w*)|(?:subprocess\.)?(?:run|Popen|call|check_output|check_call|getoutput)"
    r"|subprocess\.getstatusoutput|pty\.spawn|system|popen|asyncio\.create_subprocess_\w+"
)
_DELETES = re.compile(r"(?:shutil\.)?rmtree|os\.removedirs")
_DECODES = re.compile(r"b64decode|a85decode|decompress|fromhex|unhexlify|urlopen|requests\.|httpx\.|codecs\.decode")
_LOW_LEVEL = re.compile(r"os\.(?:dup2|setuid|fork|forkpty)|pty\.spawn|ctypes\.\w+")


def find_python_dangers(code: str, judge: Callable[[str], list[str]]) -> list[str]:
    """Why this code is always asked about. `judge` does the same for a command line."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # Python will not run it either
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found.update(dict.fromkeys(_call_dangers(node, judge)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_secret_path(node.value):
            found["reads keys or passwords"] = None
    return list(found)


def _call_dangers(call: ast.Call, judge: Callable[[str], list[str]]) -> list[str]:
    called = ast.unparse(call.func)
    if _DELETES.fullmatch(called):
        return ["deletes folders with everything in them"]
    if _LOW_LEVEL.fullmatch(called):
        return ["works on processes or memory directly"]
    if called in ("exec", "eval", "__import__") and call.args and not isinstance(call.args[0], ast.Constant):
        return ["runs what another command puts out"] if _DECODES.search(ast.unparse(call)) else []
    if called in ("os.kill", "os.killpg") and call.args and ast.unparse(call.args[0]) in ("-1", "0", "1"):
        return ["ends every process there is"]
    if _STARTS_PROGRAM.fullmatch(called) and call.args:
        return judge(_command_line(call.args))
    return []


def _command_line(arguments: list[ast.expr]) -> str:
    """The command line a call would start, each word quoted; an argument that is not a literal is UNKNOWN."""
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
