"""User commands: chat commands that a person, or a workspace, brings as Markdown files.

`commands/review.md` in the home is /review; a workspace has them in `.sojourn/commands`. Those of a workspace are
text by others: they are offered once the person has allowed them, and no longer when one of them changes.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sojourn.chat_commands import COMMANDS
from sojourn.core.errors import BadInput, NotFound

MAX_FILE_BYTES = 64 * 1024
MAX_COMMANDS = 100  # of one folder
WORKSPACE_FOLDER = Path(".sojourn") / "commands"
_CONSENTS = "allowed-commands.json"
_NAME = re.compile(r"[a-z0-9_]{1,40}")
_PLACE = re.compile(r"\$(ARGUMENTS|[1-9])\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCommand:
    """One command. `problem` says why it cannot be used."""

    name: str
    help: str = ""
    arguments: str = ""
    body: str = ""
    is_foreign: bool = False  # it is a workspace's
    problem: str = ""

    def expand(self, arguments: str) -> str:
        """The message that it stands for: `$ARGUMENTS` and `$1` to `$9` are what the person typed after its name."""
        try:
            words = shlex.split(arguments)
        except ValueError:
            words = arguments.split()

        def fill(hit: re.Match[str]) -> str:
            if hit[1] == "ARGUMENTS":
                return arguments
            return words[int(hit[1]) - 1] if int(hit[1]) <= len(words) else ""

        text, filled = _PLACE.subn(fill, self.body)
        return f"{text}\n\n{arguments}" if arguments and not filled else text


class UserCommands:
    """The commands of a home and of the workspace that a chat is in. Files are read anew each time."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self._home, self._workspace = home, workspace.resolve()

    def list_own(self) -> list[UserCommand]:
        return [one for one, _ in _read_folder(self._home / "commands", is_foreign=False)]

    def list_foreign(self) -> tuple[list[UserCommand], bool]:
        """The commands of the workspace, and whether the person has allowed exactly these."""
        folder = self._workspace / WORKSPACE_FOLDER
        if not folder.is_dir() or folder.resolve() != folder or folder == (self._home / "commands").resolve():
            return [], False  # a link would lead somewhere else
        found = list(_read_folder(folder, is_foreign=True))
        digest = _hash_all(found)
        return [one for one, _ in found], self._read_consents().get(str(self._workspace)) == digest

    def list_usable(self) -> list[UserCommand]:
        """Those that can be said now; one of the home goes before one of the workspace."""
        foreign, is_allowed = self.list_foreign()
        found = [*self.list_own(), *(foreign if is_allowed else ())]
        return list({one.name: one for one in reversed(found) if not one.problem}.values())

    def find(self, name: str) -> UserCommand | None:
        """The command of that name. BadInput for one of the workspace that is not allowed yet."""
        if name in COMMANDS:
            return None
        if usable := next((one for one in self.list_usable() if one.name == name), None):
            return usable
        if any(one.name == name and not one.problem for one in self.list_foreign()[0]):
            raise BadInput(
                f"/{name} is a command of this folder, which you have not allowed.",
                hint=f"/commands show {name} shows it; /commands allow allows all of this folder, as they are now.",
            )
        return None

    def get(self, name: str) -> UserCommand:
        """Any command of that name, to be read. NotFound."""
        for one in [*self.list_own(), *self.list_foreign()[0]]:
            if one.name == name:
                return one
        raise NotFound(f"There is no command file for /{name}.", hint="/commands lists them.")

    def allow(self) -> list[UserCommand]:
        """Allows the commands of the workspace as they are now; returns them. BadInput if there are none."""
        folder = self._workspace / WORKSPACE_FOLDER
        found = list(_read_folder(folder, is_foreign=True)) if self.list_foreign()[0] else []
        if not found:
            raise BadInput(f"There are no commands in {folder}.", hint="A command is a file like review.md there.")
        self._save_consents({**self._read_consents(), str(self._workspace): _hash_all(found)})
        return [one for one, _ in found]

    def forbid(self) -> None:
        self._save_consents(
            {path: digest for path, digest in self._read_consents().items() if path != str(self._workspace)}
        )

    def _read_consents(self) -> dict[str, str]:
        try:
            found = json.loads((self._home / _CONSENTS).read_bytes())
        except (OSError, ValueError):
            return {}  # nothing is allowed
        return found if isinstance(found, dict) else {}

    def _save_consents(self, consents: dict[str, str]) -> None:
        self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._home / f"{_CONSENTS}.new"
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as file:
            json.dump(consents, file)
        draft.replace(self._home / _CONSENTS)


def save_own_command(home: Path, command: UserCommand) -> UserCommand:
    """Writes a command of the home; returns it as it is read again. BadInput if nobody could say it."""
    body = command.body.strip()
    head = {"description": command.help.strip() or body.split("\n")[0][:80], "arguments": command.arguments}
    lines = [f"{key}: {' '.join(value.split())}" for key, value in head.items() if value.strip()]
    text = "\n".join(("---", *lines, "---", body, ""))
    saved = _parse(command.name, text, is_foreign=False)
    if len(text.encode()) > MAX_FILE_BYTES:
        raise BadInput(f"It has more than {MAX_FILE_BYTES // 1024} kB.", hint="Make it shorter.")
    path = _find_own_file(home, command.name) or home / "commands" / f"{command.name}.md"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.new")
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)
    return saved


def delete_own_command(home: Path, name: str) -> None:
    """Deletes the file of a command of the home. NotFound."""
    path = _find_own_file(home, name)
    if path is None:
        raise NotFound(f"There is no command file for /{name}.", hint="/commands lists them.")
    path.unlink()


def _find_own_file(home: Path, name: str) -> Path | None:
    try:
        return next(one for one in (home / "commands").iterdir() if one.suffix == ".md" and _to_name(one) == name)
    except (OSError, StopIteration):
        return None


def _to_name(path: Path) -> str:
    return path.stem.lower().replace("-", "_")


def _hash_all(found: list[tuple[UserCommand, bytes]]) -> str:
    parts = [f"{one.name}\0{sha256(raw).hexdigest()}" for one, raw in found]
    return sha256("\0".join(parts).encode()).hexdigest()


def _read_folder(folder: Path, *, is_foreign: bool) -> Iterator[tuple[UserCommand, bytes]]:
    """Each command with its bytes, in the order of names."""
    try:
        paths = sorted(one for one in folder.iterdir() if one.suffix == ".md")[:MAX_COMMANDS]
    except OSError:
        return
    for path in paths:
        name = _to_name(path)
        try:
            raw = _read_file(path)
            yield _parse(name, raw.decode("utf-8"), is_foreign=is_foreign), raw
        except (OSError, UnicodeDecodeError, BadInput) as error:
            problem = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
            yield UserCommand(name=name, is_foreign=is_foreign, problem=problem), b""


def _read_file(path: Path) -> bytes:
    """Follows no link: a workspace must not bring in a file of another folder."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        raw = file.read(MAX_FILE_BYTES + 1)
    if len(raw) > MAX_FILE_BYTES:
        raise BadInput(f"it has more than {MAX_FILE_BYTES // 1024} kB", hint="Make it shorter.")
    return raw


def _parse(name: str, text: str, *, is_foreign: bool) -> UserCommand:
    """Parses `description:` and `arguments:` between two lines of ---, if they are there, and the message."""
    if not _NAME.fullmatch(name):
        raise BadInput("its name is not made of letters, digits and _", hint="Rename the file.")
    if name in COMMANDS:
        raise BadInput(f"/{name} is a command already", hint="Rename the file.")
    head, body = dict[str, str](), text.removeprefix("\ufeff").strip()
    if body.startswith("---\n") and "\n---" in body[3:]:
        lines, _, body = body[4:].partition("\n---")
        head = {
            key.strip().lower(): value.strip() for key, _, value in (one.partition(":") for one in lines.split("\n"))
        }
    body = body.strip()
    if not body:
        raise BadInput("it is empty", hint="Write the message that it stands for.")
    help = head.get("description") or body.split("\n")[0][:80]
    return UserCommand(name=name, help=help, arguments=head.get("arguments", ""), body=body, is_foreign=is_foreign)
