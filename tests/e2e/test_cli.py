"""The installed `sojourn` as a person and a script start it."""

import json
import os
import resource
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

SOJOURN = str(Path(sys.executable).with_name("sojourn"))
HEAVY = {"fastapi", "uvicorn", "starlette", "pydantic", "psycopg", "hyperscan"}


def sojourn(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SOJOURN, *args],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
        check=False,
    )


def modules_after(*args: str) -> set[str]:
    """What is loaded when a command has run."""
    code = (
        "import sys; sys.argv = ['sojourn', *sys.argv[1:]]; from sojourn.__main__ import main; main();"
        "print('\\n'.join({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    ran = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=True, env=unmeasured
    )
    return set(ran.stderr.split())


def test_version_loads_next_to_nothing():
    assert sojourn("--version").stdout.startswith("sojourn ")
    assert not modules_after("--version") & {"click", "rich", "asyncio", "sqlite3", "dataclasses", *HEAVY}


def test_a_list_for_scripts_loads_only_what_it_needs():
    assert not modules_after("sessions", "list", "--json") & {"rich", *HEAVY}


def test_a_list_for_people_loads_what_draws_it_and_no_more():
    sojourn("welcome")
    found = modules_after("sessions", "list")
    assert "rich" in found
    assert not found & HEAVY


def test_one_question_loads_nothing_that_draws_and_no_tool_that_is_not_used(monkeypatch):
    monkeypatch.setenv("SOJOURN_MODEL_LOCAL_FILE", "/nowhere")
    monkeypatch.setenv("SOJOURN_MODEL_DETECT", "no")
    found = modules_after("chat", "--in-process", "--runtime", "offline", "-q", "hello")
    assert not found & {"rich", "prompt_toolkit", "html_to_markdown", "pathspec", "tree_sitter"}


def test_a_turn_that_fails_in_this_process_is_two_lines_and_its_reason_is_in_the_log(home):
    ran = sojourn("chat", "--in-process", "--runtime", "acp", "-q", "hello")
    assert ran.returncode == 2
    assert [line[:2] for line in ran.stderr.splitlines()] == ["✗ ", "  "]
    logged = (home / "logs" / "sojourn.log").read_text("utf-8")
    assert "failed in session" in logged
    assert "Traceback" not in logged


def test_help_loads_neither_a_store_nor_what_draws():
    assert not modules_after("--help") & {"rich", "asyncio", "sqlite3", *HEAVY}


def test_a_newcomer_without_terminal_sees_samples_and_the_second_time_the_same(home):
    first = sojourn("welcome")
    assert (first.returncode, first.stderr) == (0, "")
    assert "Sample:" in first.stdout
    assert home.stat().st_mode & 0o777 == 0o700
    second = sojourn("welcome")
    assert second.returncode == 0
    assert "added" not in second.stdout
    assert "\x1b" not in first.stdout + second.stdout


def test_from_the_first_look_to_an_export(tmp_path):
    sojourn("welcome")
    listed = json.loads(sojourn("sessions", "list", "--json").stdout)
    one = listed[0]["id"]
    assert sojourn("sessions", "title", one, "First thing").returncode == 0
    assert json.loads(sojourn("sessions", "show", "First thing", "--json").stdout)["id"] == one
    assert json.loads(sojourn("sessions", "search", "the", "--json").stdout)
    target = tmp_path / "out.jsonl"
    assert sojourn("sessions", "export", "--all", "-o", str(target)).returncode == 0
    assert len(target.read_text().splitlines()) == len(listed)
    assert sojourn("sessions", "forget", "First thing", "--yes").returncode == 0
    assert sojourn("sessions", "show", one).returncode == 3
    assert sojourn("store", "verify").returncode == 0


def test_a_reader_that_goes_away_is_no_error():
    sojourn("welcome")
    for flags in ("--json", ""):
        ran = subprocess.run(
            f"{SOJOURN} sessions export --all {flags} | head -c 1",
            shell=True,
            capture_output=True,
            text=True,
            check=True,
        )
        assert (len(ran.stdout), ran.stderr) == (1, "")


def test_a_screen_that_knows_only_ascii_is_no_error():
    sojourn("welcome")
    ran = sojourn("sessions", "list", PYTHONIOENCODING="ascii")
    assert ran.returncode == 0
    assert "Sample:" in ran.stdout
    assert sojourn("sessions", "show", "nope", PYTHONIOENCODING="ascii").returncode == 3


def test_a_narrow_pipe_is_obeyed():
    sojourn("welcome")
    assert max(map(len, sojourn("sessions", "list", COLUMNS="70").stdout.splitlines())) <= 70


def test_a_home_that_belongs_to_hermes_is_refused_with_the_way_in(home):
    home.mkdir()
    with sqlite3.connect(home / "state.db") as db:
        for table in ("sessions", "messages", "schema_version"):
            db.execute(f"CREATE TABLE {table}(id)")
    db.close()
    ran = sojourn("sessions", "list")
    assert ran.returncode == 5
    assert "Hermes" in ran.stderr
    assert "sojourn import" in ran.stderr


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("sojourn ses", "sessions"),
        ("sojourn sessions show Two", "Two\\ words"),
        ("sojourn sessions show '\"Two w'", "Two words"),
        ("sojourn sessions show sample_01", "sample_01_garden"),
    ],
)
def test_bash_completes_commands_ids_and_titles(words, completed):
    sojourn("welcome")
    sojourn("sessions", "title", "sample_02", "Two words")
    script = sojourn("completion", "bash").stdout
    count = len(shlex.split(words)) - 1
    typed = f'COMP_WORDS=({words}); COMP_CWORD={count}; _sojourn_completion sojourn; printf "%s\\n" "${{COMPREPLY[@]}}"'
    path = f"{Path(SOJOURN).parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", f"{script}\n{typed}"],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
        check=True,
    )
    assert ran.stdout.strip() == completed


@pytest.mark.slow
def test_listing_ten_thousand_sessions_costs_little_more_than_listing_one(home, tmp_path):
    """As a ratio: how fast the machine is does not matter here. The seconds are in bench/startup.py."""
    small = tmp_path / "small"
    for at, many in ((home, 10_000), (small, 1)):
        sojourn("sessions", "list", SOJOURN_HOME=str(at))
        with sqlite3.connect(at / "state.db") as db:
            db.executemany(
                "INSERT INTO sessions(id, source, title, started_at, last_active) VALUES (?, 'cli', ?, ?, ?)",
                [(f"s{n:05}", f"Session number {n}", 1.7e9 + n, 1.7e9 + n) for n in range(many)],
            )
        db.close()

    def cpu(at, newest) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = sojourn("sessions", "list", SOJOURN_HOME=str(at))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert newest in ran.stdout
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    rounds = [(cpu(home, "s09999"), cpu(small, "s00000")) for _ in range(5)]
    assert min(many for many, _ in rounds) < 1.5 * min(one for _, one in rounds)
