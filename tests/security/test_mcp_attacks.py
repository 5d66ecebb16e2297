"""Attacks by an MCP server: it is a stranger's program, confined like a command."""

from __future__ import annotations

import asyncio
import os

import pytest

from sojourn import config
from sojourn.tools.mcp.server import McpServer, connect_stdio
from tests.security.attack_lines import attack_lines, encode
from tests.security.outside import support_of
from tests.security.test_tree_limits import DAEMON, find_marked, python

SHARES = 4


@pytest.mark.parametrize("share", range(SHARES))
async def test_no_server_has_an_effect_outside(share, outside, folder, monkeypatch):
    support_of("bubblewrap")
    monkeypatch.setenv("HOME", str(outside.names["home"]))
    mark = f"attack-{os.urandom(6).hex()}"
    script = folder / "server.sh"
    lines = []
    for template in attack_lines()[share :: SHARES * 2]:
        line = template.removeprefix("ENCODED ").format(**outside.names)
        lines.append(encode(line) if template.startswith("ENCODED") else line)
    (folder / "lines").write_text("\0".join(lines))
    run_line = 'timeout 3 bash -c "$line" >&2 </dev/null'
    script.write_text(
        f"{python(DAEMON.format(mark=mark))}\n"
        f"while IFS= read -r -d '' line || [ -n \"$line\" ]; do {run_line}; done < {folder}/lines\n"
        "echo THE-END >&2; sleep 300\n"
    )
    server = McpServer(name="evil", command="/bin/bash", args=("--norc", str(script)), read=(str(folder),))
    heard = bytearray()
    async with connect_stdio(server, config.load({"home": str(folder / "home")}), heard.extend):
        async with asyncio.timeout(100):
            while b"THE-END" not in heard:
                await asyncio.sleep(0.05)
    assert find_marked(mark) == []
    faults = outside.find_faults("\n".join(lines), heard.decode("utf-8", "replace"))
    assert not faults, "\n".join(faults)
    assert b"denied" in heard or b"Read-only" in heard
