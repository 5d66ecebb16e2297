"""Pictures of the command line for the docs: `python scripts/screens.py` writes docs/img/cli-*.svg.

Runs the real views on the sample sessions in a home that is thrown away.
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


def screen() -> Console:
    """Records what it is shown. It is no terminal, so nothing is paged."""
    return Console(record=True, width=WIDTH, force_terminal=False, highlight=False, file=io.StringIO())


def save(console: Console, name: str, command: str) -> None:
    text = console.export_svg(title=command, unique_id=name)
    # A picture that fetches its letters from somewhere would tell that place who reads our docs.
    text = re.sub(r"@font-face \{.*?\}\s*", "", text, flags=re.DOTALL)
    (IMAGES / f"{name}.svg").write_text(text, "utf-8")
    print(f"docs/img/{name}.svg")


async def main(home: str) -> None:
    kit = build({"home": home, "database_url": ""})
    await kit.add_samples()
    store = kit.store
    sessions = await store.find(Listing())
    now = max(one.last_active for one in sessions) + 2 * DAY

    shown = screen()
    print_sessions(shown, sessions, now=now)
    save(shown, "cli-sessions", "sojourn sessions list")

    one = await store.resolve("Sample: hunting a flaky test")
    shown = screen()
    rows = [row async for row in store.read(one.id, messages_only=True)]
    print_transcript(shown, one, fold_messages(rows), full=False)
    save(shown, "cli-transcript", "sojourn sessions show 'Sample: hunting a flaky test'")

    shown = screen()
    print_hits(shown, await store.search(SearchQuery(text="test")), now=now)
    save(shown, "cli-search", "sojourn sessions search test")
    await kit.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(folder))
