"""Our hooks in the configuration of other programs."""

import json
import sys

import pytest

from sojourn import config
from sojourn.core.errors import BadInput, Conflict, NotFound
from sojourn.hooks.hook_config import PROGRAMS, build_words, is_installed, plan_install, plan_uninstall, write_change

OTHERS = """\
{
  // my own
  "model": "opus",
  "hooks": {
    "PermissionRequest": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "log-it"}]}
    ],
    "PreToolUse": [{"hooks": [{"type": "command", "command": "check-it"}]}]
  }
}
"""


@pytest.fixture
def settings(tmp_path):
    return config.load({"home": str(tmp_path / "own")}, {"HOME": str(tmp_path)})


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_without_configuration_gets_hooks_and_loses_them_again(name, settings):
    program = PROGRAMS[name]
    write_change(plan_install(program, settings, 300))
    assert plan_install(program, settings, 300).is_empty
    assert is_installed(program, settings)
    assert program.locate(settings).stat().st_mode & 0o077 == 0
    write_change(plan_uninstall(program, settings))
    assert not is_installed(program, settings)
    with pytest.raises(NotFound):
        plan_uninstall(program, settings)


def test_hooks_of_others_stay_and_ours_are_not_doubled(settings):
    file = PROGRAMS["claude"].locate(settings)
    file.parent.mkdir()
    file.write_text(OTHERS)
    for seconds in (60, 300):
        write_change(plan_install(PROGRAMS["claude"], settings, seconds))
    assert "// my own" in file.read_text()
    text = "\n".join(line for line in file.read_text().splitlines() if "//" not in line)
    hooks = json.loads(text)["hooks"]
    assert [one["hooks"][0]["command"] for one in hooks["PreToolUse"]] == ["check-it"]
    commands = [one["hooks"][0] for one in hooks["PermissionRequest"]]
    assert [one.get("timeout") for one in commands] == [None, 320]
    write_change(plan_uninstall(PROGRAMS["claude"], settings))
    left = "\n".join(line for line in file.read_text().splitlines() if "//" not in line)
    expected = "\n".join(line for line in OTHERS.splitlines() if "//" not in line)
    assert json.loads(left) == json.loads(expected)


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": 1}', '{"hooks": {"a": 1, "a": 2}, "b"}'])
def test_a_configuration_that_is_not_understood_is_left_alone(settings, text):
    file = PROGRAMS["claude"].locate(settings)
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(BadInput):
        plan_install(PROGRAMS["claude"], settings, 300)
    assert file.read_text() == text


def test_a_plugin_that_somebody_else_wrote_is_not_replaced(settings):
    file = PROGRAMS["opencode"].locate(settings)
    file.parent.mkdir(parents=True)
    file.write_text("export const Mine = 1\n")
    for plan in (
        lambda: plan_install(PROGRAMS["opencode"], settings, 9),
        lambda: plan_uninstall(PROGRAMS["opencode"], settings),
    ):
        with pytest.raises(Conflict):
            plan()


def test_nothing_of_the_folder_in_which_a_program_runs_is_imported(settings):
    assert build_words(PROGRAMS["claude"], settings, 60)[:2] == [sys.executable, "-EP"]
