"""The judge of tool results: whether a call did what it was called for."""

from sojourn.templates.judge.verdict import Verdict, judge

__all__ = ["Verdict", "judge"]
