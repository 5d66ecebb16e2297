"""The shell examples of the how-tos, the user guide and the command reference that need neither an account nor the
network, as they stand, one after the other in one home with the sample sessions."""

import gzip
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.docs.test_shell_examples import BIN, ROOT, shell_commands, without_comment

FOLDERS = ("docs/how-to", "docs/user-guide")
PAGES = ("docs/reference/cli.md", *(f"{at}/{one.name}" for at in FOLDERS for one in sorted((ROOT / at).glob("*.md"))))
NETWORK = "asks a network that the reader has set up; the tests of that network ask it"
SUGGESTION = "ID stands for a suggestion, and the samples make none"
# Why an example that begins so is not run.
NOT_RUN = {
    "curl -H \"Authorization: Bearer $TOKEN\" -H 'content-type: application/json' -H 'Idempotency-Key": NETWORK,
    'curl -H "X-Sojourn-Timestamp': NETWORK,
    "curl -d": NETWORK,
    "curl -i http://127.0.0.1:8791": NETWORK,
    "sojourn achievements install-hermes-plugin": "changes another program, after a question; its own test answers it",
    "sojourn continue": "writes files of another program, after a question; its own test answers it",
    "sojourn dashboard": "serves until it is stopped",
    "sojourn gateway add": "asks for the account of a network",
    "sojourn gateway pair K7RMX2PQ": "needs a code that a chat network has shown",
    "sojourn gateway run": "serves until it is stopped",
    'sojourn handoff "herb garden"': "needs the address of a chat",
    "sojourn import --watch": "watches until it is stopped",
    "sojourn import /media": "a folder of the reader's own",
    "sojourn memory delete": "asks first; test_cli_terminal answers",
    "sojourn mcp install claude": "changes the settings of another program",
    "sojourn model fetch": "fetches 93 MB",
    "sojourn plugins enable garden": "needs the plugin that the page builds; its own test runs that",
    "sojourn plugins install": "fetches packages",
    'sojourn schedule add "every weekday': "needs a chat network",
    "sojourn server restart": "needs a running server; test_server_lifecycle has one",
    "sojourn serve": "serves until it is stopped; the chat of the example starts a server too",
    "sojourn service": "changes the services of the machine; test_os_service runs it",
    "sojourn store migrate --to postgresql": "needs a database server",
    "sojourn templates approve ID": SUGGESTION,
    "sojourn templates edit ID": SUGGESTION,
    "sojourn templates reject ID": SUGGESTION,
    "sojourn templates show ID": SUGGESTION,
}
SOURCES = ROOT / "tests/fixtures/sources"
ANSWERS = {"sojourn config set model.api_key": "a-key\n", "sojourn import": "y\n"}
RUN = [
    (page, line)
    for page in PAGES
    for line in dict.fromkeys(map(without_comment, shell_commands(page)))
    if not line.startswith(tuple(NOT_RUN))
]


def test_what_is_not_run_is_still_in_the_pages():
    lines = [line for page in PAGES for line in shell_commands(page)]
    assert [start for start in NOT_RUN if not any(line.startswith(start) for line in lines)] == []


SKILL = re.search(
    r"```markdown\n(.*?)```", (ROOT / "docs/user-guide/memory-and-skills.md").read_text("utf-8"), re.DOTALL
)


@pytest.fixture(scope="module")
def home_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], dict[str, str]]]:
    """The environment of a reader of one folder of pages: the sample sessions, histories of Codex and Hermes, a
    schedule named news, the skill of the guide, and a port of its own for a server."""

    def build() -> dict[str, str]:
        place = tmp_path_factory.mktemp("reader")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        env = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(place), "TERM": "dumb"}
        env |= {"SOJOURN_PORT": port, "SERVER": f"http://127.0.0.1:{port}"}
        for command in (["welcome"], ["schedule", "add", "every day 8:00", "What is new?", "--name", "news"]):
            subprocess.run(["sojourn", *command], env=env, stdin=subprocess.DEVNULL, check=True, capture_output=True)
        shown = subprocess.run(["sojourn", "token", "show"], env=env, check=True, capture_output=True, text=True)
        shutil.copytree(SOURCES / "codex/0.166.0/.codex", place / ".codex")
        (place / ".hermes").mkdir()
        packed = (SOURCES / "hermes/0.19.0/.hermes/state.db.gz").read_bytes()
        (place / ".hermes/state.db").write_bytes(gzip.decompress(packed))
        skill = place / ".sojourn/skills/release-notes/SKILL.md"
        skill.parent.mkdir(parents=True)
        assert SKILL is not None
        skill.write_text(SKILL[1], "utf-8")
        return env | {"TOKEN": shown.stdout.strip()}

    made: dict[str, dict[str, str]] = {}

    def find(page: str) -> dict[str, str]:
        folder = page.rpartition("/")[0]
        if folder not in made:
            made[folder] = build()
        return made[folder]

    yield find
    for env in made.values():
        subprocess.run(["sojourn", "server", "stop", "--now"], env=env, capture_output=True)


@pytest.mark.parametrize(("page", "line"), RUN, ids=[line for _, line in RUN])
def test_an_example_works_as_it_stands(page: str, line: str, home_of: Callable[[str], dict[str, str]]):
    env = home_of(page)
    ran = subprocess.run(
        ["bash", "-c", line],
        env=env,
        cwd=env["HOME"],
        input=ANSWERS.get(line, ""),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
