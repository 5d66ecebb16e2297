"""A key belongs to the server it was saved for: who changes an address has to give the key again."""

import subprocess
import time
from pathlib import Path

import pytest

from sojourn.settings.table import LOOK_SECONDS
from tests.e2e.http_server import PROGRAM, Serving

KEY = "kept-for-one-server-0123456789"
MODEL = f'[model]\nprovider = "openai"\nname = "x"\napi_key = "{KEY}"\n'
SEARCH = f'[tools]\nsearch_engine = "brave"\nsearch_key = "{KEY}"\n'
GATEWAY = f'[model]\nbase_url = "https://gateway.example/v1"\napi_key = "{KEY}"\n'
EMBEDDER = f'[memory]\nembedder_url = "https://vectors.example/v1"\nembedder_key = "{KEY}"\n'
CHANGES = [
    (MODEL, "model.base_url", "https://thief.example/v1"),
    (MODEL, "model.provider", "groq"),
    (GATEWAY, "model.base_url", "https://gateway.example.thief.example/v1"),
    (GATEWAY, "model.base_url", "http://gateway.example/v1"),  # without TLS
    (GATEWAY, "model.base_url", "https://gateway.example:444/v1"),
    (GATEWAY, "model.base_url", "https://gateway.example@thief.example/v1"),
    (GATEWAY, "model.base_url", None),  # taken out, to be set anew
    (SEARCH, "tools.search_url", "https://thief.example"),
    (SEARCH, "tools.search_engine", "tavily"),
    (SEARCH, "tools.search_engine", None),
    (EMBEDDER, "memory.embedder_url", "https://thief.example/v1"),
    (EMBEDDER, "memory.embedder_url", None),
]


def run(home: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    given = {"PATH": "/usr/bin:/bin", "HOME": str(home.parent), **env}
    command = [str(PROGRAM), "--home", str(home), "config", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=given)


@pytest.fixture
def file(home):
    home.mkdir(parents=True, exist_ok=True)
    return home / "config.toml"


@pytest.mark.parametrize(("before", "name", "value"), CHANGES[::3])
def test_the_command_line_takes_no_key_to_another_server(before, name, value, home, file):
    file.write_text(before)
    refused = run(home, "unset", name) if value is None else run(home, "set", name, value)
    assert refused.returncode == 2
    assert "Take the key out first" in refused.stderr
    assert KEY not in refused.stderr
    assert file.read_text() == before


def test_nor_does_the_settings_page(home, file):
    file.write_text("")
    with Serving(home) as server:
        for before, name, value in CHANGES:
            file.write_text(before)
            time.sleep(2 * LOOK_SECONDS)  # so often a server looks whether a person has changed the file
            path = f"/api/plugins/dashboard/settings/{name}"
            refused = server.client.delete(path) if value is None else server.client.put(path, json={"value": value})
            assert refused.status_code == 400, (name, value, refused.text)
            assert "was given for" in refused.json()["detail"]
            assert file.read_text() == before


def test_a_key_of_the_environment_stays_as_well(home, file):
    file.write_text('[model]\nprovider = "openai"\n')
    refused = run(home, "set", "model.base_url", "https://thief.example/v1", SOJOURN_MODEL_API_KEY=KEY)
    assert "unset SOJOURN_MODEL_API_KEY" in refused.stderr


def test_what_the_refusal_says_works(home, file):
    file.write_text(MODEL)
    for args in (
        ("unset", "model.api_key"),
        ("set", "model.base_url", "https://other.example/v1"),
        ("set", "model.api_key", "another-key-0123456789"),
        ("set", "model.base_url", "https://other.example/v2"),  # the same server
        ("set", "model.name", "y"),
    ):
        done = run(home, *args)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "steps",
    [
        [("model.api_key", KEY), ("model.provider", "openai")],
        [("model.api_key", KEY), ("model.base_url", "https://gateway.example/v1")],
        [("tools.search_key", KEY), ("tools.search_engine", "brave")],
        [("tools.search_key", KEY), ("tools.search_url", "https://search.example")],
    ],
)
def test_a_first_set_up_may_begin_with_the_key(steps, home, file):
    for name, value in steps:
        done = run(home, "set", name, value)
        assert done.returncode == 0, done.stderr
