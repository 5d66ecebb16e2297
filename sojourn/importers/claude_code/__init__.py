"""Claude Code: the sessions it keeps under `projects/`, each a file of JSON lines."""

from sojourn.importers.claude_code.importer import plugin

__all__ = ["plugin"]
