"""Pictures of the command line for the docs: `python scripts/terminal_screenshots.py` writes docs/img/cli-*.svg.

Runs the real views on the sample sessions, in a temporary home.
"""

import asyncio
import io
import re
import tempfile
from pathlib import Path

from rich.console import Console

from sojourn.app import build
from sojourn.cli.views.sessions import print_hits, print_sessions, print_transcript
from sojourn.ports.store import Listing, SearchQuery
from sojourn.text.transcript import fold_messages

IMAGES = Path(__file__).parents[1] / "docs" / "img"
DAY = 86_400
WIDTH = 92


def build_console() -> Console:
    """A console that records its output. It is not a terminal, so nothing is paged."""
    return Console(record=True, width=WIDTH, force_terminal=False, highlight=False, file=io.StringIO())


def save_picture(console: Console, name: str, command: str) -> None:
    text = console.export_svg(title=command, unique_id=name)
    # Without web fonts: they would be fetched from another host by everyone who reads the docs.
    text = re.sub(r"@font-face \{.*?\}\s*", "", text, flags=re.DOTALL)
    (IMAGES / f"{name}.svg").write_text(text, "utf-8")
    print(f"docs/img/{name}.svg")


async def main(home: str) -> None:
    kit = build({"home": home, "database_url": ""})
    await kit.add_samples()
    store = kit.store
    sessions = await store.find(Listing())
    now = max(session.last_active for session in sessions) + 2 * DAY

    console = build_console()
    print_sessions(console, sessions, now=now)
    save_picture(console, "cli-sessions", "sojourn sessions list")

    session = await store.resolve("Sample: hunting a flaky test")
    console = build_console()
    rows = [row async for row in store.read(session.id, messages_only=True)]
    print_transcript(console, session, fold_messages(rows), full=False)
    save_picture(console, "cli-transcript", "sojourn sessions show 'Sample: hunting a flaky test'")

    console = build_console()
    print_hits(console, await store.search(SearchQuery(text="test")), now=now)
    save_picture(console, "cli-search", "sojourn sessions search test")
    await kit.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(folder))
