"""Dashboard plugins that pry on a real server: they see no secret, and reach neither each other nor the host."""

import json

import httpx
import pytest

from sojourn.sandbox.landlock import landlock_version
from tests.e2e.plugin_folders import write
from tests.e2e.plugin_hosts import LISTING, hosting, raw

PRY = """
import os, socket
from pathlib import Path
from fastapi import Request, Response
@router.get('/environment')
async def environment():
    return dict(os.environ)
@router.get('/read')
async def read(path: str):
    try:
        return Path(path).read_text()
    except OSError as error:
        return type(error).__name__
@router.get('/call')
async def call(port: int):
    try:
        socket.create_connection(('127.0.0.1', port), 2).close()
        return 'connected'
    except OSError as error:
        return type(error).__name__
@router.post('/kill')
async def kill(pid: int):
    try:
        os.kill(pid, 9)
        return 'killed'
    except OSError as error:
        return type(error).__name__
@router.get('/keep')
async def keep():
    file = Path(os.environ['SOJOURN_PLUGIN_DATA']) / 'note'
    file.write_text('kept')
    return file.read_text()
@router.get('/headers')
async def headers(request: Request):
    return dict(request.headers)
@router.get('/html')
async def html():
    return Response('<script>alert(1)</script>', media_type='text/html', headers={'Set-Cookie': 'a=b', 'X-Odd': '1'})
@router.get('/elsewhere')
async def elsewhere():
    return Response(status_code=307, headers={'Location': 'http://example.com/'})
"""


# Whether there is no right to it, or bubblewrap shows it not even its name.
OUT_OF_REACH = ("PermissionError", "FileNotFoundError", "ProcessLookupError")


@pytest.fixture(scope="module")
def pryer(tmp_path_factory):
    home = tmp_path_factory.mktemp("home") / ".sojourn"
    write(home, "pryer", api=PRY)
    write(home, "victim", api="@router.get('/secret')\nasync def secret():\n    return 'victim only'\n")
    with hosting(home, SOJOURN_TOKEN="a-token-of-my-own", SOJOURN_MODEL_API_KEY="a-key") as made:
        made.enable("pryer")
        made.enable("victim")
        yield made


def test_its_program_sees_none_of_our_secrets(pryer):
    seen = pryer.get("pryer", "environment").json()
    assert seen["SOJOURN_PLUGIN_NAME"] == "pryer"
    assert not {"SOJOURN_TOKEN", "SOJOURN_MODEL_API_KEY", "SOJOURN_HOME"} & set(seen)
    assert "a-token-of-my-own" not in json.dumps(seen)
    told = pryer.client.get("/api/plugins/pryer/headers", headers={"Cookie": "c=1", "Origin": "http://x"}).json()
    assert not {"authorization", "cookie", "origin"} & set(told)


@pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock")
def test_its_program_touches_its_own_folder_and_reaches_nobody(pryer):
    server = pryer.server
    for path in (
        f"{pryer.home}/server.json",
        f"{pryer.home}/state.db",
        f"/proc/{server.process.pid}/environ",
        f"{pryer.home}/plugins/victim/dashboard/plugin_api.py",
    ):
        assert pryer.client.get("/api/plugins/pryer/read", params={"path": path}).json() in OUT_OF_REACH
    port = server.address.rpartition(":")[2]
    assert pryer.client.get("/api/plugins/pryer/call", params={"port": port}).json() == "PermissionError"
    victim = {"pid": server.process.pid}
    assert pryer.client.post("/api/plugins/pryer/kill", params=victim).json() in OUT_OF_REACH
    assert pryer.get("pryer", "keep").json() == "kept"
    assert pryer.stands()


def test_it_may_reach_what_it_was_allowed_to(pryer):
    write(pryer.home, "allowed", api=PRY, needs=["network", "files"])
    pryer.enable("allowed")
    port = pryer.server.address.rpartition(":")[2]
    assert pryer.client.get("/api/plugins/allowed/call", params={"port": port}).json() == "connected"
    found = pryer.client.get("/api/plugins/allowed/read", params={"path": f"{pryer.home}/plugins-enabled/allowed.json"})
    assert "network" in found.json()


@pytest.mark.parametrize(
    "path",
    [
        "../victim/secret",
        "%2e%2e/victim/secret",
        "..%2fvictim/secret",
        "..%2Fvictim%2Fsecret",
        "..%5cvictim/secret",
        "%2e%2e%2f%2e%2e%2fsessions",
        "../../sessions",
        "x/..%2f..%2fvictim%2fsecret",
        "%252e%252e/victim/secret",
    ],
)
def test_a_path_of_one_plugin_never_reaches_another_or_the_host(pryer, path):
    answer = raw(pryer.server, f"/api/plugins/pryer/{path}")
    assert b"victim only" not in answer
    assert b'"sessions"' not in answer
    assert answer.split(b" ")[1] in (b"400", b"404")


def test_what_a_program_answers_cannot_run_as_a_page_of_ours(pryer):
    answer = pryer.get("pryer", "html")
    assert answer.text.startswith("<script>")
    assert "sandbox;" in answer.headers["content-security-policy"]
    assert not {"set-cookie", "x-odd"} & set(answer.headers)
    led = pryer.get("pryer", "elsewhere")
    assert (led.status_code, "location" in led.headers) == (502, False)


def test_a_body_too_large_is_refused(pryer):
    answer = pryer.client.post("/api/plugins/pryer/kill", content=b"x" * (8 * 1024 * 1024 + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_its_api_needs_the_token_like_ours(pryer):
    with httpx.Client(base_url=pryer.server.address, trust_env=False) as stranger:
        assert stranger.get("/api/plugins/pryer/environment").status_code == 401
        assert stranger.post(f"{LISTING}/pryer/disable").status_code == 401
        assert stranger.get("/dashboard-plugins/pryer/a-guess/index.js").status_code == 404
        assert stranger.get("/pryer").status_code == 200  # the page of the application, which holds nothing
        assert stranger.get("/openapi.json").status_code == 401
