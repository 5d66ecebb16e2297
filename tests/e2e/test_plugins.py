"""Dashboard plugins of others on a real server: they may throw, hang, exit, flood and pry; the host stands."""

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from sojourn.dashboard.confining import version
from tests.e2e.http_server import PROGRAM, Serving
from tests.e2e.plugin_folders import copy_example, programs, resident_mb, soon, write

LISTING = "/api/plugins/dashboard/plugins"
UNRULY = {
    "raiser": "@router.get('/pid')\nasync def pid():\n    import os\n    return os.getpid()\n"
              "@router.get('/oops')\nasync def oops():\n    return {}['no such plant']\n",
    "thrower": "raise OSError('the soil is frozen')\n",
    "exiter": "import os\n@router.get('/pid')\nasync def pid():\n    return os.getpid()\n"
              "@router.get('/exit')\nasync def leave():\n    print('farewell', flush=True)\n    os._exit(3)\n",
    "hanger": "import os, time\n@router.get('/pid')\nasync def pid():\n    return os.getpid()\n"
              "@router.get('/block')\nasync def block():\n    time.sleep(3600)\n"
              "@router.get('/slow')\ndef slow():\n    time.sleep(3600)\n",
    "shouter": "import threading\ndef shout():\n    while True:\n        print('x' * 100_000, flush=True)\n"
               "threading.Thread(target=shout, daemon=True).start()\n"
               "@router.get('/ok')\nasync def ok():\n    return 'ok'\n",
    "flooder": "from fastapi.responses import StreamingResponse\n@router.get('/flood')\nasync def flood():\n"
               "    async def water():\n        while True:\n            yield b'w' * 1_000_000\n"
               "    return StreamingResponse(water())\n",
    "hoarder": "@router.get('/hoard')\nasync def hoard():\n    return len(bytearray(4_000_000_000))\n",
}  # fmt: skip


class Host:
    """A server with plugins in its home, and the words to turn them on."""

    def __init__(self, server):
        self.server, self.client, self.home = server, server.client, server.home

    def listed(self, name):
        return next(one for one in self.client.get(LISTING).json() if one["name"] == name)

    def enable(self, name):
        needs = [need["name"] for need in self.listed(name)["needs"]]
        answer = self.client.post(f"{LISTING}/{name}/enable", json={"needs": needs})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def disable(self, name):
        return self.client.post(f"{LISTING}/{name}/disable")

    def get(self, name, path):
        return self.client.get(f"/api/plugins/{name}/{path}")

    def stands(self):
        """Quick, whatever a plugin is doing."""
        began = time.monotonic()
        assert self.client.get("/healthz").status_code == 200
        assert self.client.get("/api/sessions").status_code == 200
        return time.monotonic() - began < 8


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """One server with every unruly plugin, all turned on; each test has its own one of them."""
    home = tmp_path_factory.mktemp("home") / ".sojourn"
    for name, api in UNRULY.items():
        write(home, name, api=api)
    with Serving(home, SOJOURN_DASHBOARD_PLUGIN_SECONDS="2") as server:
        host = Host(server)
        for name in UNRULY:
            host.enable(name)
        yield host
    assert programs(home) == []


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A server whose plugins come one by one."""
    home = tmp_path_factory.mktemp("home") / ".sojourn"
    with Serving(home) as server:
        yield Host(server)
    assert programs(home) == []


@pytest.fixture
def mortal(home):
    """A server to be killed."""
    with Serving(home) as server:
        yield Host(server)


def test_the_example_works_as_it_stands(host):
    copy_example(host.home)
    frame = host.enable("garden")["frame"]
    assert host.client.post("/api/plugins/garden/plants", params={"name": "tulip"}).json() == ["rose", "tulip"]
    assert "sojourn.sessions.list" in host.client.get(frame + "index.js").text
    assert '<script crossorigin src="index.js">' in host.client.get(frame).text


def test_off_until_enabled_and_on_and_off_without_a_restart(host):
    write(host.home, "shy", api="@router.get('/x')\nasync def x():\n    return 1\n")
    places = ["/api/plugins/shy/x", "/shy"]
    assert host.listed("shy")["state"] == "off"
    assert [host.client.get(place).status_code for place in places] == [404, 404]
    frame = host.enable("shy")["frame"]
    assert [host.client.get(place).status_code for place in [*places, frame]] == [200, 200, 200]
    assert len(programs(host.home / "plugins" / "shy")) == 2  # the program and its keeper
    assert host.disable("shy").status_code == 200
    assert [host.client.get(place).status_code for place in [*places, frame]] == [404, 404, 404]
    assert programs(host.home / "plugins" / "shy") == []


def test_the_command_line_turns_plugins_of_a_running_server_on_and_off(host):
    write(host.home, "brisk", api="@router.get('/x')\nasync def x():\n    return 1\n")

    def sojourn(*args):
        return subprocess.run([PROGRAM, "--home", host.home, "plugins", *args], capture_output=True, text=True)

    assert "backend: Runs a program of its own" in sojourn("enable", "brisk", "--yes").stdout
    assert host.get("brisk", "x").json() == 1
    row = next(one for one in json.loads(sojourn("--json").stdout) if one["name"] == "brisk")
    assert (row["state"], row["page"], row["needs"]) == ("on", "/brisk", ["backend"])
    assert sojourn("disable", "brisk").returncode == 0
    assert soon(lambda: programs(host.home / "plugins" / "brisk") == [])
    assert host.get("brisk", "x").status_code == 404


def test_nobody_agrees_to_what_was_not_shown(host):
    place = write(host.home, "keen", needs=["sessions:read"])
    answer = host.client.post(f"{LISTING}/keen/enable", json={"needs": []})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    host.enable("keen")
    (place / "manifest.json").write_text(json.dumps({"entry": "index.js", "needs": ["sessions:read", "files"]}))
    assert host.listed("keen")["state"] == "asks"  # an update wants more: off until the person agrees
    assert host.client.get("/keen").status_code == 404


def test_a_broken_manifest_is_shown_and_hides_nobody(host):
    write(host.home, "fine")
    (write(host.home, "torn") / "manifest.json").write_text("{")
    write(host.home, "odd", tab={"path": "/sessions"})
    write(host.home, "gateway")
    told = {name: host.listed(name) for name in ("torn", "odd", "fine", "gateway")}
    assert [one["state"] for one in told.values()] == ["broken", "broken", "off", "broken"]
    assert "torn/dashboard/manifest.json is not JSON" in told["torn"]["problem"]
    assert "`tab.path`" in told["odd"]["problem"]
    assert "belongs to a built-in plugin" in told["gateway"]["problem"]
    assert host.client.post(f"{LISTING}/torn/enable", json={"needs": []}).status_code == 400
    assert host.listed("hermes-achievements")["path"] == "/achievements"


def test_one_that_throws_at_import_says_why(crowd):
    answer = crowd.get("thrower", "x")
    assert (answer.status_code, answer.json()["code"]) == (502, "plugin_down")
    assert answer.headers["content-type"] == "application/problem+json"
    assert "OSError: the soil is frozen" in answer.json()["detail"]
    assert "OSError: the soil is frozen" in crowd.listed("thrower")["problem"]
    assert crowd.stands()


def test_one_that_fails_again_and_again_is_left_alone_longer_each_time(host):
    api = "import os, time\nwith open(os.environ['SOJOURN_PLUGIN_DATA'] + '/starts', 'a') as file:\n"
    place = write(host.home, "ailing", api=api + "    print(time.time(), file=file)\nraise OSError('ailing')\n")
    host.enable("ailing")

    def starts():
        assert host.get("ailing", "x").json()["code"] == "plugin_down"
        return [float(line) for line in (place.parent / "data" / "starts").read_text().split()]

    assert soon(lambda: len(starts()) >= 3, 60)
    first, second, third = starts()[:3]
    assert second - first >= 0.5
    assert third - second >= 1


def test_one_that_was_mended_works_again(host):
    place = write(host.home, "sick", api="raise OSError('sick')\n@router.get('/x')\nasync def x():\n    return 1\n")
    host.enable("sick")
    assert host.get("sick", "x").status_code == 502
    assert host.get("sick", "x").json()["hint"].startswith("It is tried again in")
    file = place / "plugin_api.py"
    file.write_text(file.read_text().replace("raise OSError('sick')", ""))
    assert soon(lambda: host.get("sick", "x").status_code == 200)
    assert host.listed("sick")["problem"] == ""


def test_one_that_throws_in_a_request_goes_on(crowd):
    before = crowd.get("raiser", "pid").json()
    answer = crowd.get("raiser", "oops")
    assert (answer.status_code, answer.json()["code"]) == (502, "plugin_down")
    assert "KeyError" in answer.json()["detail"]
    assert crowd.get("raiser", "pid").json() == before


def test_one_that_exits_is_started_again(crowd):
    before = crowd.get("exiter", "pid").json()
    answer = crowd.get("exiter", "exit")
    assert (answer.status_code, answer.json()["code"]) == (502, "plugin_down")
    assert "farewell (exit code 3)" in answer.json()["detail"]
    assert soon(lambda: crowd.get("exiter", "pid").status_code == 200)
    assert crowd.get("exiter", "pid").json() != before
    assert crowd.stands()


def test_one_that_hangs_is_told_apart_from_one_that_is_slow(crowd):
    before = crowd.get("hanger", "pid").json()
    answer = crowd.get("hanger", "slow")
    assert (answer.status_code, answer.json()["code"]) == (504, "plugin_timeout")
    assert crowd.get("hanger", "pid").json() == before  # one slow thread is no reason to end it
    assert crowd.get("hanger", "block").status_code == 504
    assert crowd.stands()
    assert soon(lambda: crowd.get("hanger", "pid").status_code == 200)
    assert crowd.get("hanger", "pid").json() != before


def test_one_that_floods_its_output_slows_nobody_but_itself(crowd):
    crowd.get("shouter", "ok")
    before, used = resident_mb(crowd.server.process.pid), _cpu(crowd.server.process.pid)
    time.sleep(1)  # of flooding
    assert _cpu(crowd.server.process.pid) - used < 0.5
    assert resident_mb(crowd.server.process.pid) - before < 20
    assert crowd.stands()
    assert crowd.disable("shouter").status_code == 200


def test_an_answer_without_end_is_cut_off(crowd):
    before = resident_mb(crowd.server.process.pid)
    answer = crowd.get("flooder", "flood")
    assert answer.status_code in (502, 504)
    assert answer.headers["content-type"] == "application/problem+json"
    assert resident_mb(crowd.server.process.pid) - before < 80
    assert crowd.stands()


def test_one_that_takes_all_memory_gets_none(crowd):
    answer = crowd.get("hoarder", "hoard")
    assert (answer.status_code, answer.json()["code"]) == (502, "plugin_down")
    assert "MemoryError" in answer.json()["detail"]


def _cpu(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


@pytest.fixture(scope="module")
def pryer(tmp_path_factory):
    home = tmp_path_factory.mktemp("home") / ".sojourn"
    write(home, "pryer", api=PRY)
    write(home, "victim", api="@router.get('/secret')\nasync def secret():\n    return 'victim only'\n")
    with Serving(home, SOJOURN_TOKEN="a-token-of-my-own", SOJOURN_MODEL_API_KEY="a-key") as server:
        host = Host(server)
        host.enable("pryer")
        host.enable("victim")
        yield host


def test_its_program_sees_none_of_our_secrets(pryer):
    seen = pryer.get("pryer", "environment").json()
    assert seen["SOJOURN_PLUGIN_NAME"] == "pryer"
    assert not {"SOJOURN_TOKEN", "SOJOURN_MODEL_API_KEY", "SOJOURN_HOME"} & set(seen)
    assert "a-token-of-my-own" not in json.dumps(seen)
    told = pryer.client.get("/api/plugins/pryer/headers", headers={"Cookie": "c=1", "Origin": "http://x"}).json()
    assert not {"authorization", "cookie", "origin"} & set(told)


@pytest.mark.skipif(not version(), reason="this kernel has no Landlock")
def test_its_program_touches_its_own_folder_and_reaches_nobody(pryer):
    server = pryer.server
    for path in (f"{pryer.home}/server.json", f"{pryer.home}/state.db", f"/proc/{server.process.pid}/environ",
                 f"{pryer.home}/plugins/victim/dashboard/plugin_api.py"):  # fmt: skip
        assert pryer.client.get("/api/plugins/pryer/read", params={"path": path}).json() == "PermissionError"
    port = server.address.rpartition(":")[2]
    assert pryer.client.get("/api/plugins/pryer/call", params={"port": port}).json() == "PermissionError"
    victim = {"pid": server.process.pid}
    assert pryer.client.post("/api/plugins/pryer/kill", params=victim).json() == "PermissionError"
    assert pryer.get("pryer", "keep").json() == "kept"
    assert pryer.stands()


def test_it_may_reach_what_it_was_allowed_to(host):
    write(host.home, "allowed", api=PRY, needs=["network", "files"])
    host.enable("allowed")
    port = host.server.address.rpartition(":")[2]
    assert host.client.get("/api/plugins/allowed/call", params={"port": port}).json() == "connected"
    found = host.client.get("/api/plugins/allowed/read", params={"path": f"{host.home}/plugins-enabled/allowed.json"})
    assert "network" in found.json()


@pytest.mark.parametrize("path", [
    "../victim/secret", "%2e%2e/victim/secret", "..%2fvictim/secret", "..%2Fvictim%2Fsecret", "..%5cvictim/secret",
    "%2e%2e%2f%2e%2e%2fsessions", "../../sessions", "x/..%2f..%2fvictim%2fsecret", "%252e%252e/victim/secret",
])  # fmt: skip
def test_a_path_of_one_plugin_never_reaches_another_or_the_host(pryer, path):
    """Sent as it is, below the client library, which would tidy it up."""
    answer = _raw(pryer.server, f"/api/plugins/pryer/{path}")
    assert b"victim only" not in answer
    assert b'"sessions"' not in answer
    assert answer.split(b" ")[1] in (b"400", b"404")


def _raw(server, path):
    host, _, port = server.address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as line:
        head = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", f"Authorization: Bearer {server.token}"]
        line.sendall("\r\n".join([*head, "Connection: close", "", ""]).encode("latin-1"))
        return b"".join(iter(lambda: line.recv(65536), b""))


@pytest.fixture(scope="module")
def shelf(host):
    """A plugin with files it means to show, and around them files it must not; gives where its files are."""
    place = write(host.home, "shelf", page="1", api="", css="style.css")
    (place / "style.css").write_text("p {}")
    (place / "deep").mkdir()
    (place / "deep" / "picture.svg").write_text("<svg/>")
    (place / ".hidden.js").write_text("not for you")
    (place / "notes.txt").write_text("not for you")
    (place.parent / "beside.js").write_text("not for you")
    (host.home / "outside.json").write_text("not for you")
    (place / "link.json").symlink_to(host.home / "outside.json")
    (place / "folder").symlink_to(host.home)
    (place / "inner.js").symlink_to(place / "index.js")
    os.mkfifo(place / "pipe.js")
    return host.enable("shelf")["frame"]


@pytest.mark.parametrize(("name", "kind"), [
    ("", "text/html; charset=utf-8"), ("index.js", "text/javascript; charset=utf-8"),
    ("style.css", "text/css; charset=utf-8"), ("deep/picture.svg", "image/svg+xml"),
    ("inner.js", "text/javascript; charset=utf-8"), ("manifest.json", "application/json"),
    ("_sojourn/host.js", "text/javascript; charset=utf-8"),
])  # fmt: skip
def test_files_are_served_as_what_they_are_and_sandboxed(host, shelf, name, kind):
    answer = host.client.get(shelf + name)
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'; ")
    assert f"script-src {host.server.address}{shelf};" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", [
    "../beside.js", "%2e%2e/beside.js", "..%2fbeside.js", "%2e%2e%2fbeside.js", "..%5cbeside.js",
    "deep/../../beside.js", "deep/..%2f..%2fbeside.js", "%252e%252e%252fbeside.js", "....//beside.js",
    "/etc/hostname.json", "%2fetc/passwd.js", "link.json", "folder/outside.json", "folder/server.json", ".hidden.js",
    "notes.txt", "plugin_api.py", "pipe.js", "index.js%00.css", "index.js/", "deep", "deep/", "./index.js",
    "_sojourn/../index.js", "_sojourn/../../frames.py", "_sojourn/..%2fstatic%2findex.html", "C:%5cwindows.js",
    "\xff.js",
])  # fmt: skip
def test_nothing_but_its_own_files_is_served(host, shelf, path):
    answer = _raw(host.server, shelf + path)
    assert answer.split(b" ")[1] in (b"404", b"400"), answer
    assert b"not for you" not in answer


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


def _deep(host):
    """A plugin whose program holds Python's lock for long: not even a thread of it could see that we are gone."""
    write(host.home, "deep", api="import re, subprocess\n@router.get('/x')\nasync def x():\n"
          "    subprocess.Popen(['sleep', '300'])\n    re.match('(a|a)*b', 'a' * 40)\n")  # fmt: skip
    host.enable("deep")


def test_no_program_outlives_a_server_that_was_killed(mortal):
    write(mortal.home, "idle", api="@router.get('/x')\nasync def x():\n    return 1\n")
    mortal.enable("idle")
    mortal.get("idle", "x")
    _deep(mortal)
    with pytest.raises(httpx.ReadTimeout):
        mortal.client.get("/api/plugins/deep/x", timeout=1)
    assert soon(lambda: len(programs(mortal.home)) == 4)
    assert soon(lambda: len(_sleepers(mortal.home)) == 1)
    mortal.server.stop(signal.SIGKILL)
    assert soon(lambda: programs(mortal.home) == [])
    assert soon(lambda: _sleepers(mortal.home) == [])


def _sleepers(home):
    """What a program of this home has started itself, known by the environment it was given."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line, given = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:
            continue
        if line.startswith(b"sleep") and str(home).encode() in given:
            found.append(int(entry.name))
    return found


def test_programs_end_with_the_server(mortal):
    _deep(mortal)
    with pytest.raises(httpx.ReadTimeout):
        mortal.client.get("/api/plugins/deep/x", timeout=1)
    assert soon(lambda: _sleepers(mortal.home))
    code, seconds, _ = mortal.server.stop()
    assert code == 0
    assert seconds < 15
    assert programs(mortal.home) == []
    assert _sleepers(mortal.home) == []
