"""Orders messages that form a tree: edits and repeated answers are branches, of which one is active."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def order_tree(parents: Mapping[str, str | None], leaf: str | None) -> list[tuple[str, bool]]:
    """Every id behind its parent, and whether it is on the path to `leaf`; the path comes after what branches off.

    `parents` has the ids in the order of the file. Without a known leaf the last id is the leaf. An id whose parent is
    missing, or that is its own ancestor, starts a tree of its own.
    """
    ids = list(parents)
    active = _list_path(parents, leaf if leaf is not None and leaf in parents else ids[-1]) if ids else set()
    children: dict[str | None, list[str]] = {}
    for one in ids:
        parent = parents[one]
        children.setdefault(parent if parent in parents and parent != one else None, []).append(one)
    ordered: list[str] = []
    _walk(children.get(None, ()), children, active, ordered)
    left = dict.fromkeys(ids)
    for one in ordered:
        del left[one]
    return [(one, one in active) for one in (*ordered, *left)]  # `left` are circles


def _list_path(parents: Mapping[str, str | None], leaf: str) -> set[str]:
    path: set[str] = set()
    at: str | None = leaf
    while at is not None and at in parents and at not in path:
        path.add(at)
        at = parents[at]
    return path


def _walk(roots: Iterable[str], children: Mapping[str | None, list[str]], active: set[str], ordered: list[str]) -> None:
    """Depth first, the active child last; without recursion, because a chain may have thousands of links."""
    waiting = _to_stack(list(roots), active)
    while waiting:
        one = waiting.pop()
        ordered.append(one)
        waiting += _to_stack(children.get(one, []), active)


def _to_stack(ids: list[str], active: set[str]) -> list[str]:
    """In the order that pops inactive ids first, in the order of the file."""
    return [one for one in reversed(ids) if one in active] + [one for one in reversed(ids) if one not in active]
