"""The shell examples of the how-tos and of the command reference that need neither an account nor the network, as they
stand, one after the other in one home with the sample sessions."""

import os
import shutil
import subprocess

import pytest

from tests.docs.test_shell_examples import BIN, ROOT, shell_commands, without_comment

PAGES = ("docs/reference/cli.md", *(f"docs/how-to/{one.name}" for one in sorted((ROOT / "docs/how-to").glob("*.md"))))
# Why an example that begins so is not run.
NOT_RUN = {
    "curl ": "asks a server or network that the reader has set up; the tests of that network ask it",
    "sojourn dashboard": "serves until it is stopped",
    "sojourn gateway add": "asks for the account of a network",
    "sojourn gateway run": "serves until it is stopped",
    "sojourn handoff": "needs the address of a chat",
    "sojourn import --watch": "watches until it is stopped",
    "sojourn import /media": "a folder of the reader's own",
    "sojourn mcp install claude": "changes the settings of another program",
    "sojourn model fetch": "fetches 93 MB",
    "sojourn plugins enable garden": "needs the plugin that the page builds; its own test runs that",
    "sojourn plugins install": "fetches packages",
    'sojourn schedule add "every weekday': "needs a chat network",
    "sojourn server restart": "needs a running server; test_server_lifecycle has one",
    "sojourn service": "changes the services of the machine; test_os_service runs it",
    "sojourn store migrate --to postgresql": "needs a database server",
}
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


@pytest.fixture(scope="module")
def home_of_examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a reader who has the sample sessions, a history of Codex and a schedule named news."""
    place = tmp_path_factory.mktemp("how-to")
    env = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(place), "TERM": "dumb"}
    for command in (["welcome"], ["schedule", "add", "every day 8:00", "What is new?", "--name", "news"]):
        subprocess.run(["sojourn", *command], env=env, stdin=subprocess.DEVNULL, check=True, capture_output=True)
    shutil.copytree(ROOT / "tests/fixtures/sources/codex/0.166.0/.codex", place / ".codex")
    return env


@pytest.mark.parametrize(("page", "line"), RUN, ids=[line for _, line in RUN])
def test_an_example_works_as_it_stands(page: str, line: str, home_of_examples: dict[str, str]):
    ran = subprocess.run(
        ["bash", "-c", line],
        env=home_of_examples,
        cwd=home_of_examples["HOME"],
        input=ANSWERS.get(line, ""),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
