"""Arithmetic, as far as a pocket calculator goes."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

_TWO: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_MOST = 1e15  # beyond this a float stops being exact


def calculate(text: str) -> str | None:
    """The result; None when it is no sum, or too large. ZeroDivisionError passes through."""
    plain = text.replace("×", "*").replace("÷", "/").replace("^", "**").replace(",", "")
    try:
        value = _value(ast.parse(plain.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, OverflowError, RecursionError, MemoryError):
        return None
    return f"{value:.15g}" if value != int(value) else str(int(value))


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        found: float = node.value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = -_value(node.operand)
    elif isinstance(node, ast.BinOp) and type(node.op) in _TWO:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow) and abs(right) > 64:
            raise ValueError("too large")
        found = _TWO[type(node.op)](left, right)
    else:
        raise ValueError("no sum")
    if isinstance(found, complex) or abs(found) > _MOST:
        raise ValueError("too large")
    return found
