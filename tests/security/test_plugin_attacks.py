"""Attacks by the program of a dashboard plugin: the same lines as by a misled model, run from inside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn.sandbox.enforcement import find_support
from tests.e2e.plugin_folders import write
from tests.e2e.plugin_hosts import hosting
from tests.security.attack_lines import attack_lines, changes_metadata, encode

RUN = """
import subprocess
@router.get('/run')
def run_line(line: str):
    try:
        ran = subprocess.run(['/bin/bash', '-c', line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, timeout=3)
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b'').decode('utf-8', 'replace')
    except OSError as error:
        return 'not started: ' + type(error).__name__
    return ran.stdout.decode('utf-8', 'replace')
"""


@pytest.mark.slow
def test_no_line_run_by_a_plugin_has_an_effect_outside(outside, tmp_path: Path) -> None:
    home = tmp_path / ".sojourn"
    write(home, "evil", api=RUN)
    is_complete = find_support().is_complete
    templates = [one for one in attack_lines() if is_complete or not changes_metadata(one)][::2]
    faults: list[str] = []
    said: list[str] = []
    with hosting(home, HOME=str(outside.names["home"])) as host:
        host.enable("evil")
        for template in templates:
            line = template.removeprefix("ENCODED ").format(**outside.names)
            line = encode(line) if template.startswith("ENCODED") else line
            answer = host.client.get("/api/plugins/evil/run", params={"line": line}, timeout=30)
            said.append(answer.text)
            faults += outside.find_faults(line, answer.text)
        host.disable("evil")
    assert len(templates) > 60
    assert not faults, "\n".join(faults)
    refused = sum(any(word in one for word in ("denied", "not permitted", "not started", "Read-only")) for one in said)
    assert refused > len(templates) / 2, said[:5]
