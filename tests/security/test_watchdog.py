"""`/healthz` while hostile messages, histories and clients are worked on. The wall-clock bars are in `make soak`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.http_server import Serving
from tests.security.hostile_clients import Watch, make_hostile_history, run_attack

SOAK_SECONDS = float(os.environ.get("SOJOURN_TEST_SOAK_SECONDS", "600"))


def attack(tmp_path: Path, seconds: float) -> tuple[Watch, Serving]:
    user_home = tmp_path / "user"
    make_hostile_history(user_home)
    watch = Watch()
    with Serving(tmp_path / "home", HOME=str(user_home)) as server:
        run_attack(server, watch, seconds)
        found = {one for one in watch.kept if server.get(f"/api/sessions/{one}").status_code == 200}
        log_bytes = len(server.log())
    assert not watch.errors, watch.errors[:3]
    assert not watch.unhealthy, watch.unhealthy[:3]
    assert len(watch.kept) > seconds / 10
    assert set(watch.kept) == found, "sessions were lost"
    assert log_bytes < 200_000
    return watch, server


def describe(watch: Watch) -> str:
    return (
        f"/healthz asked {len(watch.waits)} times: median {watch.quantile(0.5) * 1000:.0f} ms, "
        f"p99 {watch.quantile(0.99) * 1000:.0f} ms, most {max(watch.waits) * 1000:.0f} ms; "
        f"memory {watch.resident_kb[len(watch.resident_kb) // 4] >> 10} to {watch.resident_kb[-1] >> 10} MB; "
        f"disk {watch.disk_bytes[len(watch.disk_bytes) // 4] >> 20} to {watch.disk_bytes[-1] >> 20} MB; "
        f"{len(watch.kept)} sessions kept"
    )


@pytest.mark.slow
def test_healthz_answers_while_the_server_is_attacked(tmp_path: Path) -> None:
    watch, _ = attack(tmp_path, 8)
    assert watch.quantile(0.99) < 2, describe(watch)  # the order of magnitude: the machine is shared


@pytest.mark.soak
def test_an_attack_for_ten_minutes_loses_nothing_and_keeps_answering(tmp_path: Path) -> None:
    watch, _ = attack(tmp_path, SOAK_SECONDS)
    print(describe(watch))
    assert watch.quantile(0.99) < 0.250, describe(watch)
    quarter = len(watch.resident_kb) // 4
    assert watch.resident_kb[-1] < watch.resident_kb[quarter] * 1.5 + 50_000, describe(watch)
    # Hostile messages are kept, as any message is: per session no more than they are long, and the log is emptied.
    assert watch.disk_bytes[-1] < watch.disk_bytes[quarter] * 8 + 200_000_000, describe(watch)
