import io
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from sojourn.plugins import ThirdParty
from sojourn.server_file import Server, write_server_file
from sojourn.settings.config_file import change_file, set_value
from tests.integration.cli.conftest import HERE, registry


def values(sojourn):
    return {row["name"]: row for row in sojourn("config", "--json").json}


def test_every_value_and_its_origin(sojourn, home, monkeypatch):
    home.mkdir()
    (home / "config.toml").write_text("[server]\nport = 1234\n")
    monkeypatch.setenv("SOJOURN_HOST", "0.0.0.0")
    found = values(sojourn)
    assert (found["server.port"]["value"], found["server.port"]["origin"]) == (1234, "file")
    assert found["server.host"]["origin"] == "environment"
    assert found["home"]["value"] == str(home)
    assert found["redact"]["origin"] == "default"
    assert "environment SOJOURN_HOST" in sojourn("config").out


def test_no_line_ends_in_blanks(sojourn):
    assert [line for line in sojourn("config").out.splitlines() if line.endswith(" ")] == []


def test_a_flag_wins(sojourn, tmp_path):
    (row,) = [row for row in sojourn("--home", str(tmp_path), "config", "--json").json if row["name"] == "home"]
    assert (row["value"], row["origin"]) == (str(tmp_path), "flag")


def test_secrets_are_dots(sojourn, monkeypatch):
    monkeypatch.setenv("SOJOURN_TOKEN", "hush-hush")
    assert "hush" not in sojourn("config").out
    assert values(sojourn)["server.token"]["value"] == "•••"


def test_where_the_file_is(sojourn, home):
    assert sojourn("config", "path").out == f"{home / 'config.toml'}\n"
    assert sojourn("config", "path", "--json").json["exists"] is False


def test_a_mistake_in_the_file_is_named(sojourn, home):
    home.mkdir()
    (home / "config.toml").write_text("[server]\nport = 'many'\n")
    ran = sojourn("config")
    assert ran.code == 2
    assert "server.port" in ran.err
    assert "many" in ran.err


def test_set_writes_the_file_and_keeps_it_private(sojourn, home):
    assert sojourn("config", "set", "server.port", "9000").code == 0
    assert sojourn("config", "set", "redact", "no").code == 0
    assert tomllib.loads((home / "config.toml").read_text()) == {"server": {"port": 9000}, "redact": False}
    assert (home / "config.toml").stat().st_mode & 0o777 == 0o600


def test_set_says_when_something_else_wins(sojourn, monkeypatch):
    monkeypatch.setenv("SOJOURN_PORT", "1")
    assert "environment overrides it" in sojourn("config", "set", "server.port", "2").out


@pytest.mark.parametrize(("key", "value"), [("server.port", "many"), ("server.port", "70000"), ("redact", "perhaps")])
def test_set_refuses_what_would_not_be_understood_and_leaves_the_file(key, value, sojourn, home):
    home.mkdir()
    (home / "config.toml").write_text("# mine\n")
    assert sojourn("config", "set", key, value).code == 2
    assert (home / "config.toml").read_text() == "# mine\n"


@pytest.mark.parametrize("key", ["nonsense", "home"])
def test_set_knows_its_keys(key, sojourn):
    assert sojourn("config", "set", key, "1").code == 2


def test_a_typing_mistake_says_what_was_meant(sojourn):
    assert "Did you mean model.name" in sojourn("config", "set", "model.nmae", "x").err
    assert "`sojourn config` lists them." in sojourn("config", "set", "zzzz", "x").err


def test_what_a_running_server_takes_over_later_is_said_with_the_command(sojourn, home):
    write_server_file(home, Server(address="http://127.0.0.1:1", token="t" * 40))
    assert "`sojourn server restart`" in sojourn("config", "set", "server.port", "9000").out
    assert "server restart" not in sojourn("config", "set", "model.name", "x").out


def test_one_value_is_read_and_taken_back(sojourn, home):
    assert sojourn("config", "set", "server.port", "9000").code == 0
    assert sojourn("config", "get", "server.port").out == "9000\n"
    assert sojourn("config", "get", "server.port", "--json").json["origin"] == "file"
    assert "8790 (default)" in sojourn("config", "unset", "server.port").out
    assert sojourn("config", "get", "server.port").out == "8790\n"
    assert sojourn("config", "unset", "server.port").code == 0  # nothing to do is fine
    assert sojourn("config", "set", "model.api_key", "hush-hush-hush").code == 0
    assert sojourn("config", "get", "model.api_key").out == "•••\n"


def test_a_key_stays_out_of_the_history_of_the_shell(sojourn, home, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("hush-hush-hush\n"))
    assert sojourn("config", "set", "model.api_key").code == 0
    assert tomllib.loads((home / "config.toml").read_text()) == {"model": {"api_key": "hush-hush-hush"}}
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert sojourn("config", "set", "model.api_key").code == 2
    asked = []
    monkeypatch.setattr("click.prompt", lambda text, hide_input: asked.append((text, hide_input)) or "other-key-here")
    assert sojourn("config", "set", "model.api_key", typed="").code == 0
    assert asked == [("model.api_key", True)]


FILE = """\
# my settings
redact = true  # keep it on

[server]
# the port
port = 8790   # default
host = "a # b"

[plugins.diary]
port = 1
"""


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("server.port", "9", "port = 8790   # default", "port = 9   # default"),
        ("redact", "off", "redact = true  # keep it on", "redact = false  # keep it on"),
        ("server.host", "::1", 'host = "a # b"', 'host = "::1"'),
        ("server.token", 'a"b', 'host = "a # b"', 'host = "a # b"\ntoken = "a\\"b"'),
    ],
)
def test_only_that_line_changes(sojourn, home, key, value, old, new):
    home.mkdir()
    (home / "config.toml").write_text(FILE)
    sojourn("config", "set", key, value)
    assert (home / "config.toml").read_text() == FILE.replace(old, new, 1)


def test_a_table_that_is_not_there_is_added(sojourn, home):
    sojourn("config", "set", "redact", "1")
    assert (home / "config.toml").read_text() == "redact = true\n"
    sojourn("config", "set", "server.port", "1")
    assert (home / "config.toml").read_text() == "redact = true\n\n[server]\nport = 1\n"


def test_changes_at_the_same_moment_are_all_kept(home):
    keys = {"tools.seconds": 7, "tools.most": 700, "model.steps": 9, "model.retries": 3, "skills.shortlist": 2}
    with ThreadPoolExecutor() as pool:
        for done in [
            pool.submit(change_file, home, partial(set_value, name=name, value=value))
            for name, value in keys.items()
            for _ in range(20)
        ]:
            done.result()
    written = tomllib.loads((home / "config.toml").read_text())
    assert {f"{table}.{key}": value for table, found in written.items() for key, value in found.items()} == keys
    assert [one.name for one in home.iterdir() if "part" in one.name] == []
    assert (home / "config.toml").stat().st_mode & 0o777 == 0o600


def test_a_secret_that_is_not_set_is_an_empty_text_for_scripts(sojourn):
    values = {row["name"]: row["value"] for row in sojourn("config", "--json").json}
    assert (values["server.token"], values["database_url"]) == ("", "")


@pytest.fixture
def shed(sojourn):
    """The command line with a plugin that has settings."""
    return partial(sojourn, plugins=registry(ThirdParty("garden-shed", f"{HERE}.garden_shed")))


def test_a_setting_of_a_plugin_is_set_read_and_taken_back(shed, home, monkeypatch):
    assert shed("config", "set", "plugins.garden-shed.token", "hush-hush-hush").code == 0
    assert shed("config", "set", "plugins.garden-shed.shelves", "3").code == 0
    assert shed("config", "set", "plugins.garden-shed.tools", "rake, spade").code == 0
    table = {"token": "hush-hush-hush", "shelves": 3, "tools": ["rake", "spade"]}
    assert tomllib.loads((home / "config.toml").read_text()) == {"plugins": {"garden-shed": table}}
    assert shed("config", "get", "plugins.garden-shed.token").out == "•••\n"
    assert shed("config", "get", "plugins.garden-shed.open").out == "False\n"
    monkeypatch.setenv("SOJOURN_GARDEN_SHED_SHELVES", "9")
    assert shed("config", "get", "plugins.garden-shed.shelves", "--json").json["origin"] == "environment"
    assert "environment overrides it" in shed("config", "set", "plugins.garden-shed.shelves", "4").out
    assert shed("config", "unset", "plugins.garden-shed.token").code == 0
    assert shed("config", "get", "plugins.garden-shed.token").out == "\n"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("plugins.garden-shed.shelves", "many", "is 'many', which is not a whole number"),
        ("plugins.garden-shed.shelfs", "1", "Did you mean plugins.garden-shed.shelves"),
        ("plugins.zzzzz.yyyy", "x", "Plugins with settings:"),
        ("plugins.garden-shed.beds", "x", "is a table"),
        ("plugins.garden-shed", "x", "There is no setting"),
    ],
)
def test_a_mistake_about_a_plugins_setting_writes_nothing(shed, home, key, value, said):
    ran = shed("config", "set", key, value)
    assert (ran.code, said in ran.err) == (2, True), ran.err
    assert not (home / "config.toml").exists()
