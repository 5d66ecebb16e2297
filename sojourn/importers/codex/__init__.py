"""The importer for Codex, which stores each session as a rollout, a file of JSON lines."""

from sojourn.importers.codex.importer import plugin

__all__ = ["plugin"]
