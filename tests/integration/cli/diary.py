"""A foreign program for tests: `~/.diary` holds one JSON file for each session. It is a plugin like any other."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from sojourn.core.errors import SourceUnreadable
from sojourn.core.messages import Message
from sojourn.ports.importer import FoundHistory, SessionEntry, Transcript
from sojourn.ports.plugin import Plugin


class Diary:
    name = "diary"
    label = "Diary"

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        found = self.claims(user_home / ".diary")
        return [found] if found else []

    def claims(self, path: Path) -> FoundHistory | None:
        if not path.is_dir() or not (files := sorted(path.glob("*.json"))):
            return None
        problem = "it is locked" if (path / "locked").exists() else ""
        size = sum(file.stat().st_size for file in files)
        return FoundHistory(source=self.name, home=path, sessions=len(files), bytes=size, problem=problem)

    @contextmanager
    def open(self, home: Path) -> Iterator["DiaryReader"]:
        if (home / "locked").exists():
            raise SourceUnreadable("it is locked")
        yield DiaryReader(home)


class DiaryReader:
    def __init__(self, home: Path) -> None:
        self.home = home

    def sessions(self) -> Iterator[SessionEntry]:
        for file in sorted(self.home.glob("*.json")):
            problem = "" if file.read_text().startswith("{") else "it is torn"
            yield SessionEntry(native_id=file.stem, fingerprint=file.read_text(), problem=problem)

    def read(self, native_id: str) -> Transcript:
        raw = json.loads((self.home / f"{native_id}.json").read_text())
        messages = [Message(**one, native_id=str(number)) for number, one in enumerate(raw.pop("messages"), 1)]
        return Transcript(
            native_id=native_id, fields={"source": "diary", "started_at": 1.7e9, **raw}, messages=messages
        )


def write_diary(home: Path, name: str, *said: str, **fields: object) -> None:
    """One session in which a person and an agent take turns."""
    folder = home.parent / ".diary"
    folder.mkdir(exist_ok=True)
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text, "timestamp": 1.7e9 + n} for n, text in enumerate(said)]
    (folder / f"{name}.json").write_text(json.dumps({"messages": messages, **fields}))


@click.command()
def write_page() -> None:
    """Says that it was here."""
    click.echo("dear diary")


plugin = Plugin(
    name="diary",
    summary="Reads diaries.",
    sources=[Diary],
    commands=["tests.integration.cli.diary:write_page", "tests.integration.cli.not_there:torn_page"],
)
