"""Dashboard plugins of others on a real server: off until they are turned on, and only their own files are shown."""

import json
import os
import subprocess

import pytest

from tests.e2e.http_server import PROGRAM
from tests.e2e.plugin_folders import copy_example, programs, soon, write
from tests.e2e.plugin_hosts import LISTING, hosting, raw


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A server whose plugins come one by one."""
    with hosting(tmp_path_factory.mktemp("home") / ".sojourn") as made:
        yield made


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
    assert programs(host.home / "plugins" / "shy")
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


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", "text/html; charset=utf-8"),
        ("index.js", "text/javascript; charset=utf-8"),
        ("style.css", "text/css; charset=utf-8"),
        ("deep/picture.svg", "image/svg+xml"),
        ("manifest.json", "application/json"),
        ("_sojourn/host.js", "text/javascript; charset=utf-8"),
    ],
)
def test_files_are_served_as_what_they_are_and_sandboxed(host, shelf, name, kind):
    answer = host.client.get(shelf + name)
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'; ")
    assert f"script-src {host.server.address}{shelf};" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "../beside.js",
        "%2e%2e/beside.js",
        "..%2fbeside.js",
        "%2e%2e%2fbeside.js",
        "..%5cbeside.js",
        "deep/../../beside.js",
        "deep/..%2f..%2fbeside.js",
        "%252e%252e%252fbeside.js",
        "....//beside.js",
        "/etc/hostname.json",
        "%2fetc/passwd.js",
        "link.json",
        "inner.js",
        "folder/outside.json",
        "folder/server.json",
        ".hidden.js",
        "notes.txt",
        "plugin_api.py",
        "pipe.js",
        "index.js%00.css",
        "index.js/",
        "deep",
        "deep/",
        "./index.js",
        "_sojourn/../index.js",
        "_sojourn/../../frames.py",
        "_sojourn/..%2fstatic%2findex.html",
        "C:%5cwindows.js",
        "\xff.js",
    ],
)
def test_nothing_but_its_own_files_is_served(host, shelf, path):
    answer = raw(host.server, shelf + path)
    assert answer.split(b" ")[1] in (b"404", b"400"), answer
    assert b"not for you" not in answer
