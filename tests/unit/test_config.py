"""Flags beat environment beats file beats default; a mistake says where, what and what was expected."""

import os

import pytest

from sojourn.config import follow, load
from sojourn.core.errors import BadConfig
from sojourn.core.settings import Secret
from sojourn.settings.table import SETTINGS


@pytest.fixture
def read(home):
    """Loads settings with a config file of the given text and this environment."""

    def reading(text="", flags=None, **environment):
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(text, "utf-8")
        return load(flags, {"HOME": str(home.parent), "SOJOURN_HOME": str(home), **environment})

    return reading


def test_flags_beat_environment_beats_file_beats_default(read):
    file = "[server]\nport = 1111\n"
    assert (read()["server.port"], read().origins["server.port"]) == (8790, "default")
    assert (read(file)["server.port"], read(file).origins["server.port"]) == (1111, "file")
    asked = read(file, SOJOURN_PORT="2222")
    assert (asked["server.port"], asked.origins["server.port"]) == (2222, "environment")
    asked = read(file, {"server.port": 3333}, SOJOURN_PORT="2222")
    assert (asked["server.port"], asked.origins["server.port"]) == (3333, "flag")


def test_a_flag_that_was_not_given_and_an_empty_variable_do_not_count(read):
    asked = read("redact = false\n", {"redact": None}, SOJOURN_REDACT="")
    assert (asked["redact"], asked.origins["redact"]) == (False, "file")


def test_every_setting_has_a_value_and_an_origin(read):
    asked = read()
    assert set(asked.values) == set(asked.origins) == {setting.name for setting in SETTINGS}


@pytest.mark.parametrize("word", ["1", "true", "Yes", " ON ", "tRuE"])
def test_yes_has_many_names(read, word):
    assert read(SOJOURN_REDACT=word)["redact"] is True


@pytest.mark.parametrize("word", ["0", "false", "No", "off"])
def test_no_has_many_names(read, word):
    assert read(SOJOURN_REDACT=word)["redact"] is False


@pytest.mark.parametrize(
    ("text", "key", "value", "expected"),
    [
        ("[server]\nport = 70000", "server.port", "70000", "from 0 to 65535"),
        ("[server]\nport = -1", "server.port", "-1", "whole number"),
        ("[server]\nport = 'eighty'", "server.port", "'eighty'", "whole number"),
        ("[server]\nport = 80.5", "server.port", "80.5", "whole number"),
        ("[server]\nport = true", "server.port", "True", "whole number"),
        ("[server]\nport = []", "server.port", r"\[\]", "whole number"),
        ("redact = 'maybe'", "redact", "'maybe'", "yes or no"),
        ("[server]\nhost = 7", "server.host", "7", "a text"),
        ("database_url = ['x']", "database_url", r"\['x'\]", "a text"),
        ("[achievements]\nttl_seconds = 5", "achievements.ttl_seconds", "5", "from 60 to 180"),
    ],
)
def test_a_mistake_in_the_file_names_file_key_value_and_form(read, home, text, key, value, expected):
    with pytest.raises(BadConfig, match=rf"config\.toml: {key} is {value}.*{expected}") as refused:
        read(text)
    assert str(home) in str(refused.value)
    assert refused.value.hint


def test_a_mistake_in_a_variable_or_a_flag_names_it(read):
    with pytest.raises(BadConfig, match="SOJOURN_PORT is 'x'"):
        read(SOJOURN_PORT="x")
    with pytest.raises(BadConfig, match="--port is 'y'"):
        read(flags={"server.port": "y"})
    with pytest.raises(BadConfig, match="--ttl-seconds is 1"):
        read(flags={"achievements.ttl_seconds": 1})


@pytest.mark.parametrize("text", ["colour = 'red'", "[server]\ncolour = 1", "home = '/x'", "[servers]\nport = 1"])
def test_an_unknown_setting_is_refused_with_the_known_ones(read, text):
    with pytest.raises(BadConfig, match="there is no setting") as refused:
        read(text)
    assert "server.port" in refused.value.hint


@pytest.mark.parametrize("text", ["port = ", "[server\n", "a = 1\na = 2"])
def test_a_file_that_is_no_toml_is_refused_with_the_line(read, text):
    with pytest.raises(BadConfig, match=r"config\.toml is not valid TOML: .*(line \d|end of document)"):
        read(text)


def test_a_file_that_is_no_text_is_refused(home):
    home.mkdir()
    (home / "config.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadConfig, match="not valid TOML"):
        load(environment={"SOJOURN_HOME": str(home)})


def test_a_file_that_cannot_be_read_is_not_taken_for_an_empty_one(home):
    (home / "config.toml").mkdir(parents=True)
    with pytest.raises(BadConfig, match="cannot be read"):
        load(environment={"SOJOURN_HOME": str(home)})


def test_plugins_get_their_own_tables(read):
    asked = read("[plugins.ntfy]\ntopic = 'x'\n[plugins.other]\n")
    assert asked.plugins == {"ntfy": {"topic": "x"}, "other": {}}
    with pytest.raises(BadConfig, match="one table per plugin"):
        read("plugins = 3")
    with pytest.raises(BadConfig, match="one table per plugin"):
        read("[plugins]\nntfy = 3")


def test_the_home_is_found_from_flag_variable_or_user_home(tmp_path):
    at = {"HOME": str(tmp_path)}
    assert load(environment=at).home == tmp_path / ".sojourn"
    assert load(environment={**at, "SOJOURN_HOME": "~/other"}).home == tmp_path / "other"
    asked = load({"home": str(tmp_path / "flag")}, {**at, "SOJOURN_HOME": "~/other"})
    assert (asked.home, asked.origins["home"]) == (tmp_path / "flag", "flag")
    assert load(environment={**at, "SOJOURN_HOME": "relative"}).home.is_absolute()


def test_places_of_other_programs_are_read_from_the_environment_alone(read):
    assert read(HERMES_HOME="/h", CODEX_HOME="").places == {"HERMES_HOME": "/h"}


def test_the_environment_of_the_process_is_the_default(home, monkeypatch):
    monkeypatch.setenv("SOJOURN_PORT", "1234")
    assert load()["server.port"] == 1234
    assert load().home == home
    assert os.environ["SOJOURN_HOME"] == str(home)


def test_a_secret_prints_as_dots_and_is_given_away_on_purpose_only(read):
    asked = read("[server]\ntoken = 's3cret'\n", SOJOURN_DATABASE_URL="postgres://me:s3cret@h/db")
    for name in ("server.token", "database_url"):
        secret = asked[name]
        shown = [str(secret), repr(secret), f"{secret}", f"{secret:>9}", f"{secret!r}", "%s" % secret, f"{[secret]}"]  # noqa: UP031
        assert not any("s3cret" in one for one in (*shown, repr(asked), str(asked.values)))
        assert "s3cret" in secret.reveal()
        assert type(secret.reveal()) is str


def test_an_empty_secret_is_seen_to_be_empty():
    assert not Secret("")
    assert repr(Secret("")) == "''"
    assert Secret("a") == "a"


@pytest.fixture
def followed(monkeypatch, home):
    """Writes config.toml and gives settings that follow it."""
    monkeypatch.setattr("sojourn.config.LOOK_SECONDS", 0.0)
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text("[tools]\napproval = 'always'\n[server]\nport = 1111\n")
    settings = follow(environment={"HOME": str(home.parent), "SOJOURN_HOME": str(home), "MY_VARIABLE": "x"})
    return home / "config.toml", settings


def test_a_changed_file_is_in_force_at_the_next_look(followed):
    file, settings = followed
    assert (settings["tools.approval"], settings["tools.seconds"]) == ("always", 120)
    file.write_text("[tools]\napproval = 'deny'\nenvironment = 'MY_VARIABLE'\n[plugins.one]\nkey = 2\n")
    assert (settings["tools.approval"], settings.origins["tools.approval"]) == ("deny", "file")
    assert settings.for_children["MY_VARIABLE"] == "x"
    assert settings.plugins == {"one": {"key": 2}}
    file.unlink()
    assert (settings["tools.approval"], settings.origins["tools.approval"]) == ("ask", "default")
    assert dict(settings.plugins) == {}


def test_settings_that_need_a_restart_keep_their_first_value(followed):
    file, settings = followed
    file.write_text("redact = false\n[server]\nport = 2222\n")
    assert (settings["server.port"], settings.origins["server.port"], settings["redact"]) == (1111, "file", True)


def test_a_mistake_in_the_file_changes_nothing_and_is_said_once(followed, caplog):
    file, settings = followed
    file.write_text("[tools]\napproval = 'dney'\nseconds = 5\n")
    assert [(settings["tools.approval"], settings["tools.seconds"]) for _ in range(3)] == [("always", 120)] * 3
    assert len(caplog.records) == 1
    assert "dney" in caplog.text
    file.write_text("[tools]\napproval = 'deny'\nseconds = 5\n")
    assert (settings["tools.approval"], settings["tools.seconds"]) == ("deny", 5)
