"""Commands of daily life: usage, prune, a dry run of a move, service, update, uninstall, schedules."""

import asyncio
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sojourn import app as application
from sojourn import config
from sojourn.built_in_plugins import BUILT_INS
from sojourn.cli.commands.update import find_installation
from sojourn.cli.commands.usage import describe_budgets
from sojourn.plugins import Registry
from sojourn.ports.store import Record
from tests.integration.cli.conftest import fill
from tests.integration.cli.test_sessions import BIKE, GARDEN


def keep(home, *records):
    async def work():
        app = application.App(config.load({"home": str(home)}))
        for record in records:
            await app.store.put_record(record)
        await app.close()

    asyncio.run(work())


def used(day, session, cost):
    value = {"turns": 1, "input_tokens": 1000, "output_tokens": 10, "cost_usd": cost}
    return Record(kind="usage", key=f"{day}/{session}", value=value)


def test_usage_is_added_up_by_day_and_month_and_warns_near_the_budget(sojourn, home, monkeypatch):
    assert "Nothing was used yet" in sojourn("usage").out
    today = time.strftime("%Y-%m-%d", time.gmtime())
    keep(
        home,
        used("2026-01-30", "a", 1.0),
        used("2026-01-30", "b", 2.0),
        used("2026-01-31", "a", 0.5),
        used(today, "c", 8.5),
    )
    rows = {row["day"]: row for row in sojourn("usage", "--json").json["rows"]}
    assert (rows["2026-01-30"]["cost_usd"], rows["2026-01-30"]["turns"]) == (3.0, 2)
    months = {row["month"]: row["cost_usd"] for row in sojourn("usage", "--by", "month", "--json").json["rows"]}
    assert (months["2026-01"], months[today[:7]]) == (3.5, 8.5)
    assert "  1 turn  " in sojourn("usage").out
    monkeypatch.setenv("SOJOURN_SPEND_MONTH", "10")
    assert "! This month: $8.50 of $10.00 (85%)." in sojourn("usage").out
    monkeypatch.setenv("SOJOURN_SPEND_MONTH", "100")
    assert "◦ This month: $8.50 of $100.00" in sojourn("usage").out


def test_no_budget_is_no_line():
    assert describe_budgets(config.load({}), {}) == []


def test_old_sessions_go_into_the_trash_and_pinned_ones_stay(sojourn, home):
    fill(home, GARDEN, BIKE)
    assert sojourn("sessions", "prune", "--older-than", "50y", "--json", "--yes").json["sessions"] == []
    sojourn("sessions", "pin", "Bike")
    later = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 60))
    listed = sojourn("sessions", "prune", "--older-than", later, "--dry-run", "--json").json
    assert (listed["sessions"], listed["dry_run"]) == (["garden-1"], True)
    assert len(sojourn("sessions", "list", "--json").json) == 2
    assert sojourn("sessions", "prune", "--older-than", later).code == 2
    assert "1 session moved into the trash" in sojourn("sessions", "prune", "--older-than", later, "--yes").out
    assert [one["id"] for one in sojourn("sessions", "list", "--json").json] == ["bike-1"]


def test_a_dry_run_of_a_move_copies_nothing(sojourn, home):
    fill(home, BIKE)
    target = home.parent / "moved"
    ran = sojourn("store", "migrate", "--to", str(target), "--dry-run")
    assert (ran.code, "1 sessions, 2 messages" in ran.out, target.exists()) == (0, True, False)
    assert sojourn("store", "migrate", "--to", str(target)).code == 0
    assert "not empty" in sojourn("store", "migrate", "--to", str(target), "--dry-run").err


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the unit of systemd")
def test_the_service_is_shown_before_it_is_written(sojourn, home):
    shown = sojourn("service", "install", "--print").out
    assert f'ExecStart="{sys.executable}" "-m" "sojourn" "--home" "{home}" "serve" "--no-token"' in shown
    assert "systemctl --user enable --now sojourn.service" in shown
    assert sojourn("service", "status", "--json").json["installed"] is False
    assert sojourn("service", "install").code == 2  # nobody can be asked
    assert sojourn("service", "uninstall", "--json").json == {"removed": False}


def test_the_end_of_the_log_is_shown(sojourn, home):
    assert sojourn("service", "logs").code == 2
    (home / "logs").mkdir(parents=True)
    (home / "logs" / "sojourn.log").write_text("one\ntwo\nthree\n")
    assert sojourn("service", "logs", "--lines", "2").out == "two\nthree\n"


def test_what_stays_after_an_uninstall_is_said(sojourn, home):
    assert f"rm -r {home}" in sojourn("uninstall", "--yes").out
    assert sojourn("update", "--json").json["newest"] is None
    assert "a clone" in sojourn("update").out


@pytest.mark.parametrize(
    ("package", "python", "kind"),
    [
        ("/opt/x/lib/python3.12/site-packages/sojourn/a.py", "/opt/x/bin/python", "pip"),
        ("/h/.local/pipx/venvs/sojourn/lib/sojourn/a.py", "/h/.local/pipx/venvs/sojourn/bin/python", "pipx"),
        ("/h/.local/share/uv/tools/sojourn/lib/sojourn/a.py", "/h/.local/share/uv/tools/sojourn/bin/python", "uv"),
    ],
)
def test_the_way_of_installing_is_recognised(package, python, kind):
    assert find_installation(Path(package), Path(python)).kind == kind


def test_a_clone_is_recognised(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").touch()
    found = find_installation(tmp_path / "sojourn" / "cli" / "x.py", Path("/usr/bin/python3"))
    assert (found.kind, found.place) == ("clone", tmp_path)


def git(folder, *words):
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def test_the_place_of_a_clone_is_asked_only_on_request_and_says_what_is_newer(sojourn, tmp_path, monkeypatch):
    there, here = tmp_path / "there", tmp_path / "a clone"
    there.mkdir()
    git(there, "init")
    git(there, "commit", "--allow-empty", "-m", "one")
    git(tmp_path, "clone", str(there), str(here))
    (here / "pyproject.toml").touch()
    monkeypatch.setattr("sojourn.cli.commands.update._find_own", lambda: find_installation(here / "x", Path("python3")))
    assert "There is nothing newer." in sojourn("update", "--check").out
    assert "newer" not in sojourn("update").out
    git(there, "commit", "--allow-empty", "-m", "two")
    assert sojourn("update", "--json").json["newer_commits"] is None
    assert "There are newer changes." in sojourn("update", "--check").out
    git(there, "tag", "v10.0.1")
    git(there, "tag", "v9.9.9")
    told = sojourn("update", "--check")
    assert "There is a newer one: 10.0.1." in told.out
    assert f"git -C '{here}' pull" in told.out
    assert sojourn("update", "--check", "--json").json["newest"] == "10.0.1"
    shutil.rmtree(there)
    assert "gave no answer" in sojourn("update", "--check").out


def test_schedules_are_added_listed_paused_and_removed(sojourn, home):
    offers = Registry(BUILT_INS, list)

    def run(*args):
        return sojourn("schedule", *args, plugins=offers)

    made = run("add", "every weekday 8:00", "news", "--timezone", "UTC", "--json").json
    assert (made["cron"], made["next_at"].endswith("T08:00:00.000Z")) == ("0 8 * * 1-5", True)
    assert run("add", "sometimes", "news").code == 2
    assert run("add", "hourly", "news", "--deliver", "nowhere:42").code == 2
    later = run("add", "0 8 * * *", "in Berlin", "--timezone", "Europe/Berlin")
    assert " 08:00 (Europe/Berlin)." in later.out  # by its own clock
    assert "Nothing would run it now." in later.err
    assert run("remove", "Berlin", "--yes").code == 0
    assert "news" in run("list").out
    assert run("runs", "news").out == "It has not run yet.\n"
    assert run("pause", "news").code == 0
    assert "paused: you paused it" in run("list").out
    assert run("resume", made["id"]).code == 0
    assert run("runs", "news", "--json").json == []
    assert run("remove", "news", "--yes").code == 0
    assert run("list", "--json").json == []
