"""What a shell offers while a person types: sessions by id and title, sources by name."""

from __future__ import annotations

from click.shell_completion import CompletionItem

from sojourn.cli.given import Given
from sojourn.cli.words import one_line
from sojourn.core.errors import SojournError
from sojourn.core.sessions import Session
from sojourn.ports.app import AppContext
from sojourn.ports.store import Listing

_LOOKED_AT = 2000


def sessions(given: Given, incomplete: str) -> list[CompletionItem]:
    """Sessions whose id or title begins like that. A store in trouble completes to nothing."""

    async def newest(kit: AppContext) -> list[Session]:
        return await kit.store.find(Listing(archived=None, limit=_LOOKED_AT))

    try:
        found = given.run(newest)
    except SojournError:
        return []
    return [*_by_title(found, incomplete), *_by_id(found, incomplete)]


def _by_title(found: list[Session], incomplete: str) -> list[CompletionItem]:
    if not incomplete:
        return []
    start = incomplete.casefold()
    return [
        CompletionItem(one.title, help=one.id) for one in found if one.title and one.title.casefold().startswith(start)
    ]


def _by_id(found: list[Session], incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(one.id, help=one_line(one.title or one.preview, 60))
        for one in found
        if one.id.startswith(incomplete)
    ]


def places(given: Given, incomplete: str) -> list[CompletionItem]:
    """The programs whose history we can read; the shell adds files by itself."""
    names = [make().name for plugin in given.plugins.with_sources() for make in plugin.sources]
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]
