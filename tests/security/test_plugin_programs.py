"""Programs of dashboard plugins that attack: their neighbours, the machine's sockets, their own files, their end."""

import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest

from sojourn import config
from sojourn.core.errors import NotFound, PluginDown
from sojourn.dashboard import plugin_process
from sojourn.dashboard.plugin_main import PluginArguments
from sojourn.dashboard_plugins.folders import find_folder, resolve_inside
from sojourn.sandbox.enforcement import SandboxSupport
from tests.e2e.plugin_folders import soon, write
from tests.e2e.plugin_hosts import hosting

PRY = """
import glob, os, socket, subprocess, sys, time
from pathlib import Path
def attempt(act):
    try:
        act()
        return 'done'
    except OSError as error:
        return type(error).__name__
def unix(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(2)
        one.connect(path)
def udp(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b'x', ('127.0.0.1', port))
@router.get('/unix')
async def try_unix(path: str):
    return attempt(lambda: unix(path))
@router.get('/neighbours')
async def try_neighbours():
    return [attempt(lambda: unix(one)) for one in glob.glob('/tmp/sojourn-*/s') or ['/tmp/sojourn-x/s']]
@router.get('/abstract')
async def try_abstract(name: str):
    return attempt(lambda: unix(chr(0) + name))
@router.get('/udp')
async def try_udp(port: int):
    return attempt(lambda: udp(port))
@router.get('/own')
async def try_own():
    return attempt(lambda: (Path(__file__).parent / 'planted.js').write_text('x'))
@router.get('/data')
async def data():
    return os.environ['SOJOURN_PLUGIN_DATA']
@router.get('/look')
async def look(path: str):
    try:
        return os.listdir(path)
    except OSError as error:
        return type(error).__name__
@router.get('/memory')
def memory(mark: str):
    take = 'kept = bytearray(b"x") * (100 << 20); import time; time.sleep(600)'
    started = [subprocess.Popen([sys.executable, '-c', take, mark]) for _ in range(8)]
    return [one.wait() for one in started]
@router.get('/processes')
def processes(mark: str):
    started = [subprocess.Popen(['sleep', '600', mark][:2], env={}) for _ in range(400)]
    return [one.wait() for one in started]
@router.get('/stay')
async def stay(mark: str):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(600)', mark])
        os._exit(0)
    return 'gone'
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    home = tmp_path_factory.mktemp("home") / ".sojourn"
    write(home, "plain", api=PRY)
    write(home, "wide", api=PRY, needs=["network", "files"])
    with hosting(home, SOJOURN_DASHBOARD_PLUGIN_MEMORY_MB="512") as made:
        made.enable("plain")
        made.enable("wide")
        yield made


@pytest.fixture
def sockets(tmp_path):
    """A UNIX socket with a path, an abstract one and a UDP one: like Docker's, a desktop's and a name server's."""
    path, name = str(tmp_path / "docker.sock"), f"sojourn-test-{time.monotonic_ns()}"
    unix, abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    unix.bind(path)
    abstract.bind("\0" + name)
    udp.bind(("127.0.0.1", 0))
    for one in (unix, abstract):
        one.listen()
    yield path, name, udp.getsockname()[1]
    for one in (unix, abstract, udp):
        one.close()


def ask(host, plugin, route, **given):
    return host.client.get(f"/api/plugins/{plugin}/{route}", params=given).json()


@pytest.mark.parametrize("plugin", ["plain", "wide"])
def test_no_unix_socket_is_reached_whatever_was_agreed_to(host, sockets, plugin):
    path, name, _ = sockets
    assert ask(host, plugin, "unix", path=path) == "PermissionError"
    assert ask(host, plugin, "abstract", name=name) == "PermissionError"
    assert set(ask(host, plugin, "neighbours")) == {"PermissionError"}


def test_no_datagram_leaves_without_the_network(host, sockets):
    assert ask(host, "plain", "udp", port=sockets[2]) == "PermissionError"
    assert ask(host, "wide", "udp", port=sockets[2]) == "done"


def test_data_lies_outside_the_folder_of_the_plugin_which_it_cannot_change(host):
    assert ask(host, "plain", "own") in ("PermissionError", "OSError")  # the latter: read-only
    assert not list(host.home.rglob("planted.js"))
    assert Path(ask(host, "plain", "data")) == (host.home / "plugin-data" / "plain").resolve()


def test_data_of_before_moves_along(tmp_path_factory):
    home = tmp_path_factory.mktemp("home") / ".sojourn"
    place = write(home, "old", api=PRY)
    (place.parent / "data").mkdir()
    (place.parent / "data" / "note").write_text("kept")
    with hosting(home) as made:
        made.enable("old")
        assert (Path(ask(made, "old", "data")) / "note").read_text() == "kept"
    assert not (place.parent / "data").exists()


def test_data_that_is_a_link_is_not_followed(tmp_path_factory):
    home = tmp_path_factory.mktemp("home") / ".sojourn"
    place = write(home, "sly", api=PRY)
    (home / "secrets").mkdir()
    (place.parent / "data").symlink_to(home / "secrets")
    with hosting(home) as made:
        made.enable("sly")
        assert Path(ask(made, "sly", "data")) == (home / "plugin-data" / "sly").resolve()
        assert not (home / "plugin-data" / "sly").is_symlink()


@pytest.mark.parametrize("plugin", ["plain", "wide"])
def test_turning_it_off_leaves_nothing_running(host, plugin):
    mark = f"left-behind-{time.monotonic_ns()}"
    assert ask(host, plugin, "stay", mark=mark) == "gone"
    host.disable(plugin)
    deadline = time.monotonic() + 15
    while (left := find_marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    host.enable(plugin)
    assert left == []


def find_marked(mark):
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and mark.encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
    return found


@pytest.mark.parametrize(
    ("hoard", "why"), [("memory", "memory (dashboard.plugin_memory_mb)"), ("processes", "256 processes")]
)
def test_limits_hold_for_everything_it_starts(host, hoard, why):
    mark = f"hoard-{time.monotonic_ns()}"
    answer = host.client.get(f"/api/plugins/plain/{hoard}", params={"mark": mark}, timeout=60)
    assert answer.json()["code"] == "plugin_down"
    assert why in answer.json()["detail"]
    assert find_marked(mark) == []
    assert soon(lambda: host.get("plain", "data").status_code == 200)


def test_only_files_opens_other_folders(host):
    seen = ask(host, "plain", "look", path=str(host.home))  # at most the way to its own folder
    assert seen == "PermissionError" or set(seen) <= {"plugins", "plugin-data"}
    assert {"token", "plugins"} <= set(ask(host, "wide", "look", path=str(host.home)))
    for place in ("/proc", "/dev", "/var", "/root"):
        assert ask(host, "plain", "look", path=place) == "PermissionError", place


@pytest.mark.parametrize("needs", [frozenset(), frozenset({"files", "network"})])
async def test_without_confinement_it_is_not_started(monkeypatch, tmp_path, needs):
    none = SandboxSupport(mechanism="none", missing=("This kernel has no Landlock.",))
    monkeypatch.setattr(plugin_process, "find_support", lambda: none)
    monkeypatch.setattr(plugin_process, "start_process", pytest.fail)
    given = PluginArguments(name="x", folder=str(tmp_path), api="a.py", data=str(tmp_path), socket=-1, memory_mb=200)
    with pytest.raises(PluginDown, match="cannot confine"):
        await plugin_process.start_plugin(given, needs, config.load({}))


def test_links_in_its_folder_are_refused(home):
    place = write(home, "linked")
    (place / "again.js").symlink_to("index.js")
    (place / "folder").symlink_to(home)
    (home / "config.js").write_text("secret")
    for path in ("again.js", "folder/config.js", "folder/plugins/linked/dashboard/index.js"):
        with pytest.raises(NotFound):
            resolve_inside(place, path)
    (place / "index.js").unlink()
    (place / "index.js").symlink_to(home / "config.js")
    assert "link" in find_folder(home, "linked").problem
