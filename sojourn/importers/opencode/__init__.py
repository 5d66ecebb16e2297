"""opencode: its database of either generation, and the tree of files from before there was one."""

from sojourn.importers.opencode.importer import plugin

__all__ = ["plugin"]
