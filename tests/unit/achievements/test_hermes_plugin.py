"""The plugin for a real Hermes: every change is told first, and undone without a trace."""

from __future__ import annotations

import io
import json
import re

import pytest

from sojourn.achievements.hermes_plugin import HermesPlugin, disable_plugin, enable_plugin, is_disabled
from sojourn.achievements.service import serve_lines
from sojourn.core.errors import BadInput, Conflict, SourceUnreadable, StoreUnavailable

NAME = "hermes-achievements"
CONFIGS = {
    "nothing": "",
    "no plugins": "model:\n  default: x  # mine\n",
    "a flow list": "plugins:\n  enabled: [a]  # mine\nmodel: x\n",
    "an empty flow list": "plugins:\n  enabled: []\n",
    "a block list": "plugins:\n  enabled:\n    - a\n  disabled: [b]\nmodel: x\n",
    "a flat block list": "plugins:\n  enabled:\n  - a\n",
    "only disabled ones": "plugins:\n  disabled:\n    - b\n",
    "a bare key": "plugins:\n",
    "a flow mapping": "plugins: {enabled: [a]}\n",
    "comments only": "# mine",
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_name_goes_into_the_list_and_out_again(config):
    enabled = enable_plugin(config, NAME)
    assert NAME in enabled
    assert enable_plugin(enabled, NAME) == enabled
    assert all(word in enabled for word in re.findall(r"\w+:?", config))
    assert NAME not in disable_plugin(enabled, NAME)


@pytest.mark.parametrize(
    "config", ["plugins: [a]\n", "plugins:\n  enabled: a\n", "- a\n", "a: b: c\n", "a: 1\na: 2\n", "# a\u2028b\nc: d"]
)
def test_a_config_that_cannot_be_edited_is_left_to_the_person(config):
    with pytest.raises(BadInput, match="cannot be edited"):
        enable_plugin(config, NAME)


COMMENTED = """# head
plugins:  # p
    # before the list
    enabled:  # e
        - a   # first
        # between
        - "b"

# about the model
model: 'x'   # quoted
long: {long}
text: |
    kept
     as it is
"""


def test_comments_quotes_indentation_and_long_lines_are_preserved():
    config = COMMENTED.format(long="word " * 60 + "end")
    enabled = enable_plugin(config, NAME)
    assert enabled == config.replace("        - a ", f"        - {NAME}\n        - a ")
    assert disable_plugin(enabled, NAME) == config


@pytest.mark.parametrize("entries", [[NAME], ["a", NAME], ["a  # mine", NAME]])
def test_comments_that_follow_our_entry_stay_when_it_goes(entries):
    names = "".join(f"    - {name}\n" for name in entries)
    left = disable_plugin(f"plugins:\n  enabled:\n{names}\n# about the theme\ntheme: dark\n", NAME)
    assert left.endswith("\n\n# about the theme\ntheme: dark\n")
    assert NAME not in left
    assert ("# mine" in left) == ("# mine" in names)


def test_a_disabled_plugin_is_seen():
    assert is_disabled(f"plugins:\n  disabled: [{NAME}]\n", NAME)
    assert not is_disabled(f"plugins:\n  enabled: [{NAME}]\n", NAME)


@pytest.fixture
def home(tmp_path):
    (tmp_path / "plugins" / NAME).mkdir(parents=True)
    (tmp_path / "plugins" / NAME / "state.json").write_text('{"unlocks": {}}')
    return tmp_path


def everything_in(home):
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


WRITTEN = [None, "model: x\n", "plugins:\n  enabled: [a]\n", "a: b\r\nplugins:\r\n  enabled: [a]\r\n", "# a\nc: d"]


@pytest.mark.parametrize("config", WRITTEN)
def test_uninstalling_puts_everything_back(home, config):
    if config is not None:
        (home / "config.yaml").write_bytes(config.encode())
    before = everything_in(home)
    plugin = HermesPlugin(home, "/usr/bin/python3")
    assert len(plugin.changes_to_install()) == 7
    assert everything_in(home) == before
    plugin.install()
    plugin.install()
    assert NAME in (home / "config.yaml").read_text()
    command = json.loads((home / "plugins" / NAME / "sojourn.json").read_text())["command"]
    assert command[0] == "/usr/bin/python3"
    assert plugin.changes_to_uninstall()
    plugin.uninstall()
    assert everything_in(home) == before
    assert plugin.changes_to_uninstall() == []


@pytest.mark.parametrize("was_there", [(), ("scan_snapshot.json",)])
def test_what_scans_left_goes_and_what_was_there_before_stays(tmp_path, was_there):
    other = tmp_path / "other"
    folder = other / "plugins" / NAME
    other.mkdir()
    for name in was_there:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    plugin = HermesPlugin(other, "/usr/bin/python3")
    plugin.install()
    for name in ("scan_snapshot.json", "scan_checkpoint.json", "scan_status.json"):
        (folder / name).write_text("{}")
    plugin.uninstall()
    assert [one.name for one in other.rglob("*") if one.is_file()] == list(was_there)
    assert (other / "plugins").exists() is bool(was_there)


def test_what_the_dashboard_gives_to_anybody_holds_no_secret(home):
    (home / "config.yaml").write_text("model:\n  api_key: sk-mine\n")
    (home / "config.yaml").chmod(0o640)
    HermesPlugin(home, "/opt/mine/python").install()
    folder = home / "plugins" / NAME
    for path in (folder / "dashboard").rglob("*"):
        assert path.is_dir() or not re.search(r"sk-mine|/opt/mine", path.read_text())
    for name in ("installed-by-sojourn.json", "sojourn.json"):
        assert (folder / name).stat().st_mode & 0o077 == 0
    assert (home / "config.yaml").stat().st_mode & 0o777 == 0o640


def test_installing_again_takes_an_open_record_out_of_the_dashboard(home):
    (home / "config.yaml").write_text("model: x\n")
    before = everything_in(home)
    plugin = HermesPlugin(home, "python")
    plugin.install()
    folder = home / "plugins" / NAME
    for name in ("installed-by-sojourn.json", "sojourn.json"):
        (folder / name).rename(folder / "dashboard" / name)
    plugin.install()
    assert {path.name for path in (folder / "dashboard").iterdir()} == {"manifest.json", "plugin_api.py", "dist"}
    plugin.uninstall()
    assert everything_in(home) == before


def test_a_config_that_cannot_be_written_stays_whole(home, monkeypatch):
    (home / "config.yaml").write_text("model: x\n")
    plugin = HermesPlugin(home, "python")
    plugin.install()
    before = everything_in(home)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        plugin.uninstall()
    assert everything_in(home) == before


def test_lines_keep_their_ends():
    windows = "model: x\r\nplugins:\r\n  enabled:\r\n  - a\r\n"
    enabled = enable_plugin(windows, NAME)
    assert enabled.count("\r\n") == enabled.count("\n") == windows.count("\n") + 1
    assert disable_plugin(enabled, NAME) == windows


def test_what_the_person_changed_meanwhile_stays(home):
    (home / "config.yaml").write_text("model: x\n")
    plugin = HermesPlugin(home, "python")
    plugin.install()
    with (home / "config.yaml").open("a") as config:
        config.write("theme: dark\n")
    plugin.uninstall()
    left = (home / "config.yaml").read_text()
    assert "theme: dark" in left
    assert NAME not in left


def test_a_dashboard_that_is_not_ours_is_not_overwritten(home):
    (home / "plugins" / NAME / "dashboard").mkdir()
    with pytest.raises(Conflict):
        HermesPlugin(home, "python").changes_to_install()
    with pytest.raises(SourceUnreadable):
        HermesPlugin(home / "nowhere", "python").changes_to_install()


class Service:
    """Answers as the real one does, with less behind it."""

    def achievements(self, wait=None):
        if wait == 5:
            raise StoreUnavailable("no", hint="later")
        return {"wait": wait}

    def rescan(self, *, full):
        return {"full": full}


def asked(*requests):
    lines = b"".join(json.dumps({"id": number, **one}).encode() + b"\n" for number, one in enumerate(requests))
    out = io.BytesIO()
    serve_lines(Service(), io.BytesIO(lines), out)
    out.seek(0)
    answers = {}
    while head := out.readline():
        told = json.loads(head)
        answers[told["id"]] = told["status"], json.loads(out.read(told["bytes"]))
    return [answers[number] for number in range(len(requests))]


def test_requests_by_line_get_the_answers_of_the_routes():
    get = {"method": "GET", "path": "achievements"}
    first, second, third, fourth = asked(
        get,
        {**get, "query": {"wait": "3"}},
        {"method": "POST", "path": "rescan", "query": {"mode": "full"}},
        {"method": "GET", "path": "overview"},
    )
    assert first == (200, {"wait": None})
    assert second == (200, {"wait": 3.0})
    assert third == (202, {"full": True})
    assert fourth[0] == 404


def test_what_goes_wrong_is_an_answer_too():
    refused, broken, odd = asked(
        {"method": "GET", "path": "achievements", "query": {"wait": "5"}},
        {"method": "GET"},
        {"method": "GET", "path": "achievements", "query": {"wait": "soon"}},
    )
    assert (refused[0], refused[1]["detail"], refused[1]["hint"]) == (503, "no", "later")
    assert broken[0] == 500
    assert odd[0] == 400
