"""Our entry in the configuration of other programs."""

import sys
import tomllib
from pathlib import Path

import pytest

from sojourn import config
from sojourn.core.errors import BadInput, Conflict, NotFound, SourceUnreadable
from sojourn.mcp_server.program_config import PROGRAMS, plan_install, plan_uninstall

CODEX = """\
# how I like it
model = "gpt-5"   # the big one

[mcp_servers.files]
command = "npx"   # fetched

[mcp_servers.files.env]
API_KEY = "not-for-others"

# the end
"""


@pytest.fixture
def settings(tmp_path):
    return config.load({"home": str(tmp_path / "own")}, {"HOME": str(tmp_path)})


def command_of(settings):
    return [sys.executable, "-P", "-m", "sojourn", "--home", str(settings.home), "mcp"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_without_configuration_gets_one_and_loses_the_entry_again(name, settings):
    program = PROGRAMS[name]
    file = program.locate(settings)
    plan_install(program, settings).write()
    assert plan_install(program, settings).is_empty
    assert file.stat().st_mode & 0o077 == 0
    assert '"mcp"' in file.read_text()
    plan_uninstall(program, settings).write()
    assert file.read_text().split() in ([], ["{", "}"], ["{}"])
    with pytest.raises(NotFound):
        plan_uninstall(program, settings)


def test_codex_keeps_comments_and_its_other_servers(settings):
    program, file = PROGRAMS["codex"], PROGRAMS["codex"].locate(settings)
    file.parent.mkdir()
    file.write_text(CODEX)
    file.chmod(0o640)
    plan_install(program, settings).write()
    text = file.read_text()
    assert text.startswith(CODEX)
    entry = tomllib.loads(text)["mcp_servers"]["sojourn"]
    assert [entry["command"], *entry["args"]] == command_of(settings)
    assert file.stat().st_mode & 0o777 == 0o640
    file.write_text(f"{text}\n# added later\n[tui]\nsound = true\n")
    plan_uninstall(program, settings).write()
    assert file.read_text() == f"{CODEX}\n# added later\n[tui]\nsound = true\n"


def test_codex_is_restored_to_the_byte(settings):
    program, file = PROGRAMS["codex"], PROGRAMS["codex"].locate(settings)
    file.parent.mkdir()
    file.write_bytes(CODEX.replace("\n", "\r\n").encode())
    before = file.read_bytes()
    plan_install(program, settings).write()
    plan_uninstall(program, settings).write()
    assert file.read_bytes() == before


def test_opencode_is_written_where_its_configuration_is(settings):
    folder = settings.user_home / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text('{\n  // mine\n  "theme": "x"\n}\n')
    change = plan_install(PROGRAMS["opencode"], settings)
    change.write()
    assert (folder / "opencode.jsonc").read_text().startswith('{\n  // mine\n  "theme": "x",\n  "mcp": {')
    assert not (folder / "opencode.json").exists()


def test_a_moved_configuration_is_found(tmp_path):
    moved = {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "c"), "CLAUDE_CONFIG_DIR": str(tmp_path / "d")}
    settings = config.load({}, {**moved, "XDG_CONFIG_HOME": str(tmp_path / "x")})
    assert PROGRAMS["codex"].locate(settings) == tmp_path / "c" / "config.toml"
    assert PROGRAMS["claude"].locate(settings) == tmp_path / "d" / ".claude.json"
    assert PROGRAMS["opencode"].locate(settings) == tmp_path / "x" / "opencode" / "opencode.json"


def test_the_change_shows_no_secret_of_a_neighbour(settings):
    file = PROGRAMS["gemini"].locate(settings)
    file.parent.mkdir()
    key = "sk-proj-" + "abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    file.write_text(f'{{"mcpServers": {{"a": {{"env": {{"KEY": "{key}"}}}}}}}}')
    shown = plan_install(PROGRAMS["gemini"], settings).describe()
    assert str(file) in shown
    assert "sojourn" in shown
    assert key not in shown


def test_a_link_is_followed_and_stays_a_link(settings):
    real = settings.user_home / "dotfiles.json"
    real.write_text("{}")
    (settings.user_home / ".claude.json").symlink_to(real)
    plan_install(PROGRAMS["claude"], settings).write()
    assert (settings.user_home / ".claude.json").is_symlink()
    assert "sojourn" in real.read_text()


def test_a_file_that_was_changed_meanwhile_is_not_written(settings):
    file = settings.user_home / ".claude.json"
    file.write_text("{}")
    change = plan_install(PROGRAMS["claude"], settings)
    file.write_text('{"a": 1}')
    with pytest.raises(Conflict):
        change.write()
    assert file.read_text() == '{"a": 1}'
    assert [one.name for one in settings.user_home.iterdir()] == [".claude.json"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("claude", '{"mcpServers": []}'),
        ("claude", "not json"),
        ("gemini", '{"a": 1, "a": 2}'),
        ("codex", "model = "),
        ("codex", 'mcp_servers = { files = { command = "npx" } }'),
        ("codex", "mcp_servers = 5"),
    ],
)
def test_what_cannot_be_changed_safely_is_refused(name, text, settings):
    file = PROGRAMS[name].locate(settings)
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    with pytest.raises(BadInput):
        plan_install(PROGRAMS[name], settings)
    assert file.read_text() == text


def test_a_file_that_is_no_text_is_refused(settings):
    (settings.user_home / ".claude.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(SourceUnreadable):
        plan_install(PROGRAMS["claude"], settings)


def test_the_usual_home_is_not_named(tmp_path):
    settings = config.load({}, {"HOME": str(tmp_path)})
    plan_install(PROGRAMS["claude"], settings).write()
    assert "--home" not in Path(tmp_path / ".claude.json").read_text()
