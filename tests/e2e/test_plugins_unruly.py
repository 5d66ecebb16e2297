"""Dashboard plugins that throw, hang, exit, flood and hoard on a real server: the host stands, and outlives them."""

import os
import signal
import time
from pathlib import Path

import httpx
import pytest

from tests.e2e.http_server import Serving
from tests.e2e.plugin_folders import programs, resident_mb, soon, write
from tests.e2e.plugin_hosts import Host, hosting

STARTED = (
    "import os, time\nSTARTED = time.monotonic_ns()\n"
    "@router.get('/started')\nasync def started():\n    return STARTED\n"
)
UNRULY = {
    "raiser": STARTED + "@router.get('/oops')\nasync def oops():\n    return {}['no such plant']\n",
    "thrower": "raise OSError('the soil is frozen')\n",
    "exiter": STARTED
    + "@router.get('/exit')\nasync def leave():\n    print('farewell', flush=True)\n    os._exit(3)\n",
    "hanger": STARTED + "@router.get('/block')\nasync def block():\n    time.sleep(3600)\n"
    "@router.get('/slow')\ndef slow():\n    time.sleep(3600)\n",
    "shouter": "import threading\ndef shout():\n    while True:\n        print('x' * 100_000, flush=True)\n"
    "threading.Thread(target=shout, daemon=True).start()\n"
    "@router.get('/ok')\nasync def ok():\n    return 'ok'\n",
    "flooder": "from fastapi.responses import StreamingResponse\n@router.get('/flood')\nasync def flood():\n"
    "    async def water():\n        while True:\n            yield b'w' * 1_000_000\n"
    "    return StreamingResponse(water())\n",
    "hoarder": "@router.get('/hoard')\nasync def hoard():\n    return len(bytearray(4_000_000_000))\n",
}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """One server with every unruly plugin, all turned on; each test has its own one of them."""
    home = tmp_path_factory.mktemp("home") / ".sojourn"
    for name, api in UNRULY.items():
        write(home, name, api=api)
    with hosting(home, SOJOURN_DASHBOARD_PLUGIN_SECONDS="2") as made:
        for name in UNRULY:
            made.enable(name)
        yield made


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A server whose plugins come one by one."""
    with hosting(tmp_path_factory.mktemp("home") / ".sojourn") as made:
        yield made


@pytest.fixture
def mortal(home):
    """A server to be killed."""
    with Serving(home) as server:
        yield Host(server)


def test_one_that_throws_at_import_says_why(crowd):
    answer = crowd.get("thrower", "x")
    assert (answer.status_code, answer.json()["code"]) == (502, "plugin_down")
    assert answer.headers["content-type"] == "application/problem+json"
    assert "OSError: the soil is frozen" in answer.json()["detail"]
    assert "OSError: the soil is frozen" in crowd.listed("thrower")["problem"]
    assert crowd.stands()


def test_one_that_fails_again_and_again_is_left_alone_longer_each_time(host):
    api = "import os, time\nwith open(os.environ['SOJOURN_PLUGIN_DATA'] + '/starts', 'a') as file:\n"
    write(host.home, "ailing", api=api + "    print(time.time(), file=file)\nraise OSError('ailing')\n")
    host.enable("ailing")

    def starts():
        assert host.get("ailing", "x").json()["code"] == "plugin_down"
        return [float(line) for line in (host.home / "plugin-data" / "ailing" / "starts").read_text().split()]

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
    before = crowd.get("raiser", "started").json()
    answer = crowd.get("raiser", "oops")
    assert (answer.status_code, answer.json()["code"]) == (502, "plugin_down")
    assert "KeyError" in answer.json()["detail"]
    assert crowd.get("raiser", "started").json() == before


def test_one_that_exits_is_started_again(crowd):
    before = crowd.get("exiter", "started").json()
    answer = crowd.get("exiter", "exit")
    assert (answer.status_code, answer.json()["code"]) == (502, "plugin_down")
    assert "farewell (exit code 3)" in answer.json()["detail"]
    assert soon(lambda: crowd.get("exiter", "started").status_code == 200)
    assert crowd.get("exiter", "started").json() != before
    assert crowd.stands()


def test_one_that_hangs_is_told_apart_from_one_that_is_slow(crowd):
    before = crowd.get("hanger", "started").json()
    answer = crowd.get("hanger", "slow")
    assert (answer.status_code, answer.json()["code"]) == (504, "plugin_timeout")
    assert crowd.get("hanger", "started").json() == before  # one slow thread is no reason to end it
    assert crowd.get("hanger", "block").status_code == 504
    assert crowd.stands()
    assert soon(lambda: crowd.get("hanger", "started").status_code == 200)
    assert crowd.get("hanger", "started").json() != before


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


def _deep(host):
    """A plugin whose program holds Python's lock for long: not even a thread of it could see that we are gone."""
    write(
        host.home,
        "deep",
        api="import re, subprocess\n@router.get('/x')\nasync def x():\n"
        "    subprocess.Popen(['sleep', '300'])\n    re.match('(a|a)*b', 'a' * 40)\n",
    )
    host.enable("deep")


def test_no_program_outlives_a_server_that_was_killed(mortal):
    write(mortal.home, "idle", api="@router.get('/x')\nasync def x():\n    return 1\n")
    mortal.enable("idle")
    mortal.get("idle", "x")
    _deep(mortal)
    with pytest.raises(httpx.ReadTimeout):
        mortal.client.get("/api/plugins/deep/x", timeout=1)
    assert soon(lambda: len(_sleepers(mortal.home)) == 1)
    assert programs(mortal.home)
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
