"""The shell examples of README, the start page and the HTTP reference, as they stand, on the sample sessions that we
ship. That bash and zsh read those of every page alike."""

import os
import re
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.system_package import require_program

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PAGES = ("README.md", "docs/start.md")
EVERY_PAGE = ["README.md", *sorted(str(one.relative_to(ROOT)) for one in (ROOT / "docs").rglob("*.md"))]
# What does not come to an end by itself, or needs something of the reader's own.
NOT_RUN = {
    "sojourn chat": "waits for a person",
    "sojourn serve": "runs below",
    "sojourn dashboard": "serves until it is stopped",
    "sojourn gateway run": "serves until it is stopped",
    "sojourn handoff garden --to telegram": "needs a Telegram bot",
    "sojourn sessions forget ID": "ID stands for an id",
    "sojourn store restore FILE": "FILE stands for a backup",
    "sojourn store migrate --to postgresql://…": "needs a database server",
    "sojourn store migrate --to postgresql://user@host/sojourn": "needs a database server",
}


def shell_commands(page: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line.strip() for line in lines if line.lstrip().startswith(("sojourn ", "curl "))]


def without_comment(line: str) -> str:
    return re.sub(r"\s+#.*$", "", line)


ALL = [(page, line) for page in PAGES for line in shell_commands(page)]
RUN = list(dict.fromkeys(without_comment(line) for _, line in ALL if without_comment(line) not in NOT_RUN))


def test_what_is_not_run_is_still_in_the_pages():
    assert {without_comment(line) for _, line in ALL} >= set(NOT_RUN)


def shell_blocks(page: str) -> list[str]:
    found = re.findall(r"^( *)```sh\n(.*?)^ *```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for _, block in found]


def test_bash_and_zsh_read_every_example_alike(tmp_path: Path):
    """Every program is a stub that prints its arguments."""
    zsh = require_program("zsh", "zsh")
    blocks = [(page, block) for page in EVERY_PAGE for block in shell_blocks(page)]
    programs = {words[0] for _, block in blocks for line in block.splitlines() if (words := line.split())}
    names = sorted(one for one in {*programs, "cd"} if re.fullmatch(r"[a-z][a-z-]*", one) and one != "export")
    stubs = 'show() { printf "<%s>" "$@"; printf "\\n"; }\n' + "".join(
        f'{one}() {{ show {one} "$@"; }}\n' for one in names
    )
    said = []
    for shell in ("bash", zsh):  # interactive: only there does zsh take # for a comment if it is told to
        options = ["-o", "interactive_comments"] if shell == zsh else []
        script = stubs + "".join(f'show "{page}"\n{block}' for page, block in blocks)
        ran = subprocess.run([shell, *options, "-c", script], cwd=tmp_path, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr) == (0, "")
        said.append(re.sub(r"sha256=[0-9a-f]+|Timestamp: \d+", "", ran.stdout))
    assert said[0] == said[1]
    assert said[0].count("\n") > len(blocks)


@pytest.fixture(scope="module")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a home with the sample sessions, and a server at a port of its own."""
    place = tmp_path_factory.mktemp("examples")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    env = {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(place),
        "SOJOURN_HOME": str(place / ".sojourn"),
        "SOJOURN_PORT": port,
        "SOJOURN_RUNTIME": "offline",
        "TERM": "dumb",
    }
    welcome = subprocess.run(["sojourn", "welcome"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert "sojourn chat" in welcome.stdout
    with subprocess.Popen(["sojourn", "serve"], env=env, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout
        serving.stdout.readline()
        env["TOKEN"] = serving.stdout.readline().split()[1]
        yield env
        serving.terminate()
        serving.wait(30)


@pytest.mark.parametrize("line", RUN)
def test_an_example_works_as_it_stands(line: str, sample_home: dict[str, str]):
    ran = subprocess.run(
        ["bash", "-c", line.replace("127.0.0.1:8790", f"127.0.0.1:{sample_home['SOJOURN_PORT']}")],
        env=sample_home,
        cwd=sample_home["HOME"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert "not_found" not in ran.stdout


def test_the_http_reference_works_as_it_stands(sample_home: dict[str, str]):
    blocks = shell_blocks("docs/reference/http.md")
    lines = [line for block in blocks for line in block.splitlines() if "/events " not in line]  # a stream has no end
    script = "set -e\n" + "\n".join(lines)
    (Path(sample_home["HOME"]) / "plan.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    ran = subprocess.run(
        ["bash", "-c", script.replace("127.0.0.1:8790", f"127.0.0.1:{sample_home['SOJOURN_PORT']}")],
        env=sample_home,
        cwd=sample_home["HOME"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count('"hash"') == 2
    assert "event: done" in ran.stdout
    assert '"code"' not in ran.stdout
