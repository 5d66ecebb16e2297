"""Memory and idle CPU of a gateway process that serves every network, each connected to its test server.

Once with all networks, once with those that need no vendor's SDK. Bridges and the test servers are other processes.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import tomlkit

from bench.report import limit, save_result
from sojourn import config
from sojourn.app import App
from sojourn.core.settings import Secret
from sojourn.gateway.network_setup import list_networks
from tests.servers import adapter_context
from tests.servers.encrypted_synapse import EncryptedHarness
from tests.servers.harnesses import RIGS
from tests.servers.mail import MailHarness, dovecot
from tests.servers.ngircd import IrcHarness, ngircd
from tests.servers.prosody import XmppHarness, prosody
from tests.servers.synapse import World, synapse

SETTLE_SECONDS, IDLE_SECONDS, START_SECONDS = 10.0, 30.0, 60.0
WITH_SDK = ("telegram", "discord", "slack", "matrix", "email", "xmpp")  # their vendors' or a general client library
WITHOUT_RIG = ("local", "api_server")  # which are inside Sojourn


@asynccontextmanager
async def open_rigs(folder: Path) -> AsyncIterator[dict[str, dict[str, Any]]]:
    """Every test server; gives the settings that each network is reached with."""
    async with AsyncExitStack() as stack:
        harnesses = {name: await stack.enter_async_context(rig()) for name, rig in RIGS.items()}
        for name in ("irc", "xmpp", "matrix", "people"):
            (folder / name).mkdir()
        irc_port = stack.enter_context(ngircd(folder / "irc"))
        harnesses["irc"] = await stack.enter_async_context(IrcHarness(irc_port))
        harnesses["email"] = await stack.enter_async_context(MailHarness(stack.enter_context(dovecot())))
        ports = stack.enter_context(prosody(folder / "xmpp"))
        harnesses["xmpp"] = await stack.enter_async_context(XmppHarness(ports, "dm"))
        world = World(stack.enter_context(synapse(folder / "matrix")), folder / "people")
        harnesses["matrix"] = await stack.enter_async_context(EncryptedHarness(world))
        settings = dict[str, dict[str, Any]]()
        for name, harness in harnesses.items():
            with record_settings() as seen:
                await harness.connect().close()
            settings[name] = to_table(seen[-1])
        yield settings


@contextmanager
def record_settings() -> Iterator[list[Any]]:
    """What adapters are configured with while it is entered."""
    seen, before = list[Any](), (adapter_context.AdapterKit.configured, adapter_context.With.configured)

    def configured(self: Any, _plugin: str) -> Any:
        seen.append(self._configured)
        return self._configured

    for kind in (adapter_context.AdapterKit, adapter_context.With):
        kind.configured = configured  # type: ignore[method-assign,assignment]
    try:
        yield seen
    finally:
        adapter_context.AdapterKit.configured, adapter_context.With.configured = before  # type: ignore[method-assign]


def to_table(settings: Any) -> dict[str, Any]:
    """Settings as `[plugins.<name>]` has them."""
    table = {one.name: getattr(settings, one.name) for one in fields(settings)}
    plain = {key: value.reveal() if isinstance(value, Secret) else value for key, value in table.items()}
    simple = {key: str(one) if isinstance(one, Path) else one for key, one in plain.items() if one is not None}
    return {key: list(one) if isinstance(one, tuple) else one for key, one in simple.items()}


def read_memory(pid: int) -> float:
    """The resident memory of a process, without bridges that it started, in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def read_cpu_seconds(pid: int) -> float:
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


async def measure(home: Path, settings: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A gateway with these networks, idle."""
    home.mkdir()
    (home / "config.toml").write_text(tomlkit.dumps({"plugins": settings}))
    names = ",".join([*settings, *WITHOUT_RIG])
    program = [sys.executable, "-m", "sojourn", "--home", str(home)]
    with (home / "out").open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *program, "gateway", "run", "--platforms", names, stdout=out, stderr=out
        )
    try:
        lines = await until_up(program, len(settings) + len(WITHOUT_RIG), home / "out")
        await asyncio.sleep(SETTLE_SECONDS)
        cpu, begun = read_cpu_seconds(process.pid), time.monotonic()
        await asyncio.sleep(IDLE_SECONDS)
        spent = (read_cpu_seconds(process.pid) - cpu) / (time.monotonic() - begun)
        return {"memory": read_memory(process.pid), "cpu": 100 * spent, "lines": sorted(lines)}
    finally:
        process.terminate()
        await process.wait()


async def until_up(program: list[str], count: int, log: Path) -> list[str]:
    """The networks that are connected, when all of them are."""
    deadline, up = time.monotonic() + START_SECONDS, list[str]()
    while time.monotonic() < deadline:
        await asyncio.sleep(2)
        asked = [*program, "gateway", "status", "--json"]
        said = await asyncio.to_thread(subprocess.run, asked, capture_output=True, text=True)
        gateways = json.loads(said.stdout or "{}").get("gateways", [])
        lines = {name: line for one in gateways for name, line in one["lines"].items()}
        up = [name for name, line in lines.items() if line["state"] == "up"]
        if len(up) == count:
            return up
    raise RuntimeError(f"not connected: {set(lines) - set(up)}\n{log.read_text()[-2000:]}")


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        async with open_rigs(folder) as settings:
            light = {name: table for name, table in settings.items() if name not in WITH_SDK}
            without = await measure(folder / "light", light)
            everything = await measure(folder / "all", settings)
    bars = [
        limit(f"memory, {len(everything['lines'])} networks", everything["memory"], "MB", most=250),
        limit(f"memory, {len(without['lines'])} networks without an SDK", without["memory"], "MB", most=100),
        limit("idle CPU, all networks", everything["cpu"], "%", most=1),
        limit("idle CPU, without an SDK", without["cpu"], "%", most=1),
    ]
    known = {one.name for one in list_networks(App(config.load({"home": str(folder)})))}
    details = {"networks": everything["lines"], "without an SDK": without["lines"]}
    save_result("gateway_idle", bars, details | {"not measured": sorted(known - set(everything["lines"]))})


if __name__ == "__main__":
    asyncio.run(main())
