"""The chaos of `test_gateway_chaos.py` on PostgreSQL, whose server is stopped, killed and started again meanwhile."""

from __future__ import annotations

import pytest

from tests.e2e.chaos_run import QUICK, SEED, SIZES, chaos
from tests.servers.postgres import own_server


@pytest.mark.timeout(0)
@pytest.mark.postgres
@pytest.mark.parametrize(("sessions", "seconds"), SIZES, ids=["slice", "full"])
async def test_nothing_is_lost_doubled_or_stuck_on_postgres(home, monkeypatch, postgres_server, sessions, seconds):
    """Its own server: `postgres_server` is asked for what it sets up, and is others' to use."""
    with own_server() as server:
        for name, value in {**QUICK, "DATABASE_URL": server.url()}.items():
            monkeypatch.setenv(f"SOJOURN_{name}", value)
        await chaos(home, seed=SEED, sessions=sessions, seconds=seconds, server=server)
