"""Chaos: sessions go to and fro between a terminal, a chat and the web, while gateways are killed and lines break.

What must hold in the end: no message is lost, none is answered twice without being marked, no session has two owners,
nothing is stuck. SQLite is a file and cannot be restarted; the gateways that are killed have it open. The same on
PostgreSQL, which goes away meanwhile, is in a file of its own, so that both can run side by side.
"""

from __future__ import annotations

import pytest

from tests.e2e.chaos_run import QUICK, SEED, SIZES, chaos


@pytest.mark.timeout(0)
@pytest.mark.parametrize(("sessions", "seconds"), SIZES, ids=["slice", "full"])
async def test_nothing_is_lost_doubled_or_stuck_on_sqlite(home, monkeypatch, sessions, seconds):
    for name, value in QUICK.items():
        monkeypatch.setenv(f"SOJOURN_{name}", value)
    await chaos(home, seed=SEED, sessions=sessions, seconds=seconds)
