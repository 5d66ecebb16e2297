"""Codex: the rollouts it keeps under `sessions/`, each a file of JSON lines."""

from sojourn.importers.codex.source import plugin

__all__ = ["plugin"]
