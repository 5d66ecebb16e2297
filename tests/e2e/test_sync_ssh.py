"""`sojourn sync ssh://…` through a real sshd: two homes, and a machine in between that has no Sojourn."""

import asyncio
import getpass
import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.core.messages import user
from tests.e2e.http_server import PROGRAM
from tests.servers.system_package import ROOT

SSHD = "/usr/sbin/sshd"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Its port, and a folder with an `ssh` that knows its keys."""
    needed = subprocess.run(
        [ROOT / "scripts" / "need", "openssh-server", "test", "-x", SSHD], capture_output=True, text=True
    )
    if needed.returncode:
        pytest.skip(needed.stderr.strip())
    folder = Path(tmp_path_factory.mktemp("sshd"))
    for name in ("host", "person"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "authorized").write_text((folder / "person.pub").read_text())
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "authorized",
        "PasswordAuthentication": "no",
        "StrictModes": "no",
        "UsePAM": "no",
        "PidFile": "none",
    }
    (folder / "sshd_config").write_text("".join(f"{name} {value}\n" for name, value in options.items()))
    Path("/run/sshd").mkdir(exist_ok=True)
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.DEVNULL)
    client = {"IdentityFile": folder / "person", "UserKnownHostsFile": "/dev/null", "StrictHostKeyChecking": "no"}
    (folder / "ssh_config").write_text(
        "".join(f"{name} {value}\n" for name, value in client.items()) + "LogLevel ERROR\n"
    )
    (folder / "bin").mkdir()
    starter = folder / "bin" / "ssh"
    starter.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {folder}/ssh_config "$@"\n')
    starter.chmod(0o755)
    until = time.monotonic() + 20
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        assert time.monotonic() < until
        time.sleep(0.05)
    yield f"ssh://{getpass.getuser()}@127.0.0.1:{port}", folder / "bin"
    process.terminate()
    process.wait()


def sojourn(server, home, *args):
    environment = {**os.environ, "PATH": f"{server[1]}:{os.environ['PATH']}"}
    command = [PROGRAM, "--home", str(home), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


def say(home, text):
    """A session in which this was said."""

    async def store_it():
        app = App(config.load({"home": str(home), "memory.embedder": "none"}))
        session = await app.store.create(title=text)
        lease = await app.store.lease(session.id, holder="test", surface="cli")
        await app.store.append(lease, [user(text)])
        await app.store.renew(lease, 0)
        await app.close()
        return session.id

    return asyncio.run(store_it())


def sync(server, home, folder):
    done = sojourn(server, home, "--json", "sync", f"{server[0]}{folder}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout[done.stdout.index("{") :])


def join(anna, bert):
    bert.mkdir(exist_ok=True)
    [key] = anna.glob("sync-*.key")
    (bert / key.name).touch(mode=0o600)
    (bert / key.name).write_text(key.read_text())


def list_ids(server, home):
    return {one["id"] for one in json.loads(sojourn(server, home, "sessions", "list", "--json").stdout)}


def test_two_homes_and_a_folder_on_another_machine(server, tmp_path):
    anna, bert, folder = tmp_path / "anna", tmp_path / "bert", tmp_path / "there it's"
    missing = sojourn(server, anna, "sync", f"{server[0]}{folder}")
    assert (missing.returncode, "There is no folder" in missing.stderr) == (2, True)
    folder.mkdir()
    gone = say(anna, "hello there")
    assert sync(server, anna, folder)["sent"] == 1
    join(anna, bert)
    say(bert, "another one")
    assert sync(server, bert, folder)["received"] == 1
    assert sync(server, anna, folder)["received"] == 1
    assert len(list_ids(server, anna)) == 2
    assert sojourn(server, bert, "sessions", "forget", gone, "--yes").returncode == 0
    sync(server, bert, folder)
    assert sync(server, anna, folder)["forgotten"] == 1
    assert gone not in list_ids(server, anna)
    assert b"hello there" not in b"".join(path.read_bytes() for path in folder.glob("*/*"))


def test_what_a_hostile_machine_offers_is_not_taken(server, tmp_path):
    anna, bert, folder = tmp_path / "anna", tmp_path / "bert", tmp_path / "there"
    folder.mkdir()
    say(anna, "hello there")
    sync(server, anna, folder)
    join(anna, bert)
    [bundle] = folder.glob("*/00000001.bundle")
    (bundle.parent / "00000002.bundle").symlink_to("/etc/passwd")
    (folder / "..evil").write_text("x")
    other = folder / ("0" * 16)
    other.mkdir()
    (other / "00000001.bundle").write_bytes(bundle.read_bytes()[:-5] + b"wrong")
    (other / "x;touch pwned.bundle").write_text("x")
    done = sojourn(server, bert, "--json", "sync", f"{server[0]}{folder}")
    report = json.loads(done.stdout[done.stdout.index("{") :])
    assert (done.returncode, report["received"]) == (1, 1)
    assert "signature is wrong" in report["refused"][0]
    taken = {path.relative_to(bert / "sync-ssh").parts[-1] for path in (bert / "sync-ssh").rglob("*") if path.is_file()}
    assert taken == {"sojourn-group.json", "00000001.bundle"}
    assert not list(tmp_path.rglob("pwned*"))


@pytest.mark.parametrize(
    "url",
    [
        "ssh://-oProxyCommand=touch%20pwned/x",
        "ssh://box",
        "ssh://box/",
        "ssh:///x",
        "ssh://-l@box/x",
        "ssh://a:secret@box/x",
        "ssh://box:notaport/x",
        "ssh://bo x/x",
    ],
)
def test_an_address_cannot_be_an_option_of_ssh(server, tmp_path, url):
    done = sojourn(server, tmp_path / "home", "sync", url)
    assert done.returncode == 2
    assert "no address of a folder" in done.stderr


def test_a_machine_that_is_away_loses_nothing(server, tmp_path):
    say(tmp_path / "anna", "hello there")
    done = sojourn(server, tmp_path / "anna", "sync", "ssh://127.0.0.1:1/x")
    assert done.returncode != 0
    assert "cannot be reached" in done.stderr
