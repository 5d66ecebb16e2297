"""A folder on another machine, over ssh: its bundles are copied into a replica in our home, and ours are copied there.

The other machine needs a shell, `find`, `tar` and `cat`, no Sojourn. It is trusted as little as any other carrier:
only files with the names of bundles are taken, none replaces one that is here, and bundles are read as always.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import subprocess
import tarfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

from sojourn.core.errors import BadInput, Conflict, SourceUnreadable
from sojourn.sync.bundles import GROUP_FILE, MAX_BUNDLE_BYTES

SCHEME = "ssh://"
_BUNDLE = re.compile(r"[0-9a-f]{16}/[0-9]{8}\.bundle")
_HOST = re.compile(r"[A-Za-z0-9_.:\[\]%][A-Za-z0-9_.:\[\]%-]*")
_USER = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.@-]*")
_OPTIONS = ("-T", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4")
_MAX_LIST_BYTES, _MAX_GROUP_BYTES = 64 << 20, 10_000
_NO_FOLDER = 66  # exit code of our own commands


@dataclass(frozen=True, slots=True, kw_only=True)
class SshAddress:
    """Where the folder is."""

    host: str
    path: str
    user: str = ""
    port: int = 0

    @property
    def command(self) -> list[str]:
        port = ["-p", str(self.port)] if self.port else []
        return ["ssh", *_OPTIONS, *port, "--", f"{self.user}@{self.host}" if self.user else self.host]

    def __str__(self) -> str:
        return f"{self.host}:{self.path}"


def parse_address(url: str) -> SshAddress:
    """`ssh://[user@]host[:port]/path`; `/~/path` is below the person's home there. BadInput."""
    try:
        parts = urlsplit(url)
        host, user, port, path = (
            parts.hostname or "",
            unquote(parts.username or ""),
            parts.port or 0,
            unquote(parts.path),
        )
    except ValueError:
        host = user = path = ""
        port = 0
    path = path.removeprefix("/~/") if path.startswith("/~/") else path
    is_safe = _HOST.fullmatch(host) and (not user or _USER.fullmatch(user)) and "\0" not in path
    if not is_safe or path in ("", "/") or parts.password or parts.query or parts.fragment:
        raise BadInput(
            f"{url} is no address of a folder.", hint="Say one like ssh://box/srv/sojourn or ssh://box/~/sync."
        )
    return SshAddress(host=host, user=user, port=port, path=path.rstrip("/"))


class SshFolder:
    """The replica of a folder on another machine."""

    def __init__(self, address: SshAddress, home: Path) -> None:
        name = hashlib.sha256(repr(address).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._address, self.replica = address, home / "sync-ssh" / name
        self._there: set[str] = set()

    def fetch(self) -> None:
        """Copies what is not here yet. SourceUnreadable, BadInput."""
        self.replica.mkdir(parents=True, exist_ok=True, mode=0o700)
        listing = self._run("find . -type f")[:_MAX_LIST_BYTES].decode("utf-8", "replace").splitlines()
        self._there = {name.removeprefix("./") for name in listing}
        if GROUP_FILE in self._there and not (self.replica / GROUP_FILE).exists():
            self._place(GROUP_FILE, self._run(f"head -c {_MAX_GROUP_BYTES} {GROUP_FILE}"))
        wanted = sorted(one for one in self._there if _BUNDLE.fullmatch(one) and not (self.replica / one).exists())
        if wanted:
            self._download(wanted)

    def _download(self, names: list[str]) -> None:
        """One stream for all. A bundle that is cut off is not kept."""
        with self._start("tar cf - -T -") as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write("".join(f"{name}\n" for name in names).encode())  # the other side reads all of it first
            process.stdin.close()
            with suppress(tarfile.TarError, EOFError), tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    name = member.name.removeprefix("./")
                    if name in names and member.isreg() and member.size <= MAX_BUNDLE_BYTES:
                        opened = archive.extractfile(member)
                        data = opened.read() if opened else b""
                        if len(data) == member.size:
                            self._place(name, data)
            self._finish(process)

    def _place(self, name: str, data: bytes) -> None:
        target = self.replica / name
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = target.with_name(f".{target.name}.part")
        part.write_bytes(data)
        part.replace(target)

    def push_group(self) -> None:
        """Puts the mark of a group that was begun just now there. Conflict if another machine was faster."""
        mark = (self.replica / GROUP_FILE).read_bytes()
        self._run(f"set -C; cat > {GROUP_FILE} || cat > /dev/null", mark)
        if self._run(f"head -c {_MAX_GROUP_BYTES} {GROUP_FILE}") != mark:
            (self.replica / GROUP_FILE).unlink()
            raise Conflict(f"Another machine began a group in {self._address} just now.", hint="Sync again.")

    def push(self) -> None:
        """Copies the bundles that are not there. Each appears whole, or not at all."""
        for path in sorted(self.replica.glob("*/*.bundle")):
            name = path.relative_to(self.replica).as_posix()
            if _BUNDLE.fullmatch(name) and name not in self._there:
                self._upload(name, path.read_bytes())
                self._there.add(name)

    def _upload(self, name: str, data: bytes) -> None:
        machine, _, file = name.partition("/")
        part = f"{machine}/.{file}.part"
        self._run(
            f"mkdir -p {machine} && cat > {part} && [ $(wc -c < {part}) -eq {len(data)} ] && "
            f"if [ -e {name} ]; then rm {part}; else mv {part} {name}; fi",
            data,
        )

    # ssh
    def _start(self, command: str) -> subprocess.Popen[bytes]:
        """Runs a shell command in the folder there."""
        path = shlex.quote(self._address.path if self._address.path.startswith("/") else f"./{self._address.path}")
        words = [*self._address.command, f"cd {path} 2>/dev/null || exit {_NO_FOLDER}; {command}"]
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(words, stdin=pipe, stdout=pipe)  # what ssh itself says reaches the person
        except FileNotFoundError as error:
            raise SourceUnreadable("There is no ssh here.", hint="Install an ssh client.") from error

    def _run(self, command: str, given: bytes = b"") -> bytes:
        with self._start(command) as process:
            output, _ = process.communicate(given)
            self._finish(process)
        return output

    def _finish(self, process: subprocess.Popen[bytes]) -> None:
        _drain(process.stdout)
        code = process.wait()
        if code == _NO_FOLDER:
            hint = (
                f"`{shlex.join([*self._address.command[:1], self._address.command[-1]])} mkdir -p {self._address.path}`"
            )
            raise BadInput(f"There is no folder {self._address}.", hint=hint)
        if code:
            raise SourceUnreadable(
                f"{self._address} cannot be reached or used (ssh ended with {code}).",
                hint=f"Does `ssh {self._address.command[-1]}` work? Nothing is lost; sync again.",
            )


def _drain(output: IO[bytes] | None) -> None:
    while output is not None and not output.closed and output.read(1 << 20):
        pass
