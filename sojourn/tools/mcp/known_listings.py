"""What the tools of MCP servers said about themselves when the person last allowed it: `<home>/mcp/known.json`.

A server is taken at its word when it is configured. A tool that is new later, or describes itself differently, is shown
to the person before it is offered again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn.core.messages import Json
from sojourn.tools.mcp.server import McpServer

logger = logging.getLogger(__name__)
Listing = Mapping[str, Json]


class KnownListings:
    """The hash of each known tool, by server."""

    def __init__(self, home: Path) -> None:
        self._file = home / "mcp" / "known.json"

    def find_changed(self, server: McpServer, listings: Sequence[Listing]) -> set[str]:
        """The names of tools that the person has not seen as they are now; none of a new server."""
        everything = self._load()
        known = {} if everything is None else everything.get(_key(server))
        if known is None:
            self._save(server, {str(one["name"]): hash_listing(one) for one in listings})
            return set()
        return {str(one["name"]) for one in listings if known.get(str(one["name"])) != hash_listing(one)}

    def accept(self, server: McpServer, listing: Listing) -> None:
        """Remembers that the person has seen a tool as it is now."""
        known = (self._load() or {}).get(_key(server), {})
        self._save(server, {**known, str(listing["name"]): hash_listing(listing)})

    def _load(self) -> dict[str, dict[str, str]] | None:
        """None if the file cannot be read: then no tool of any server is known."""
        try:
            found = json.loads(self._file.read_text("utf-8"))
            return {str(name): dict(tools) for name, tools in found.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            logger.warning("%s cannot be read, so every MCP tool is shown again: %s", self._file, error)
            return None

    def _save(self, server: McpServer, tools: Mapping[str, str]) -> None:
        found = {**(self._load() or {}), _key(server): dict(tools)}
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = self._file.with_suffix(".new")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            json.dump(found, out)
        new.replace(self._file)


def hash_listing(listing: Listing) -> str:
    return hashlib.sha256(json.dumps(listing, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _key(server: McpServer) -> str:
    return f"{server.name}:{server.fingerprint}"
