"""`/healthz` while hostile messages, pages, commands, histories and clients are worked on. The bars: `make soak`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sojourn.testing.model_server import ModelServer
from tests.e2e.http_server import Serving
from tests.security.agent_server import write_config
from tests.security.hostile_clients import Watch, find_kept, make_hostile_history, run_attack
from tests.security.hostile_tools import call_tools, serve_pages

SOAK_SECONDS = float(os.environ.get("SOJOURN_TEST_SOAK_SECONDS", "600"))


def attack(tmp_path: Path, seconds: float) -> Watch:
    user_home, home = tmp_path / "user", tmp_path / "home"
    make_hostile_history(user_home)
    watch = Watch()
    limits = "seconds = 3\nmemory_mb = 300\nprocesses = 100"
    with ModelServer(call_tools) as model, serve_pages() as pages:
        allowed = f'[tools]\napproval = "always"\nprivate_hosts = "127.0.0.1"\n{limits}\n'
        write_config(home, model, allowed)
        with Serving(home, HOME=str(user_home)) as server:
            run_attack(server, watch, seconds, pages)
            found = find_kept(server, watch)
            log_bytes = len(server.log())
    print(describe(watch, len(set(watch.kept) - found)))
    assert not watch.errors, watch.errors[:3]
    assert not watch.unhealthy, watch.unhealthy[:3]
    assert all(watch.attacks[one] for one in ("message", "fetch", "run")), watch.attacks
    assert len(watch.kept) > seconds / 10
    assert set(watch.kept) == found, "messages were lost"
    assert log_bytes < 200_000
    return watch


def describe(watch: Watch, lost: int = 0) -> str:
    return (
        f"/healthz asked {len(watch.waits)} times: median {watch.quantile(0.5) * 1000:.0f} ms, "
        f"p99 {watch.quantile(0.99) * 1000:.0f} ms, most {max(watch.waits) * 1000:.0f} ms; "
        f"memory {watch.resident_kb[len(watch.resident_kb) // 4] >> 10} to {watch.resident_kb[-1] >> 10} MB; "
        f"disk {watch.disk_bytes[len(watch.disk_bytes) // 4] >> 10} to {watch.disk_bytes[-1] >> 10} kB "
        f"while {watch.kept_counts[len(watch.kept_counts) // 4]} to {watch.kept_counts[-1]} sessions were kept, "
        f"its log {max(watch.log_bytes) >> 10} kB at most, all other files "
        f"{watch.other_bytes[len(watch.other_bytes) // 4] >> 10} to {watch.other_bytes[-1] >> 10} kB; "
        f"{len(watch.kept)} messages kept, {lost} lost; "
        f"{len(watch.unhealthy)} times unhealthy; attacks: {dict(watch.attacks)}"
    )


MAX_SESSION_BYTES = 24_000  # that a session of one short question and answer takes, with its index and its events
FREE_BYTES = 20_000_000  # that were of messages deleted since, and are used again
MAX_JOURNAL_BYTES = 80_000_000  # what one large transaction may leave behind, and what is written before it is copied


def check_disk(watch: Watch) -> None:
    """Flat: from the first quarter on the disk grows by what people keep, and what was sent to harm leaves nothing."""
    quarter = len(watch.disk_bytes) // 4
    before, after = max(watch.disk_bytes[: quarter + 1]), watch.disk_bytes[-1]
    kept = watch.kept_counts[-1] - watch.kept_counts[quarter]
    assert after - before < kept * MAX_SESSION_BYTES + FREE_BYTES, describe(watch)
    assert max(watch.log_bytes) < MAX_JOURNAL_BYTES, describe(watch)
    assert watch.other_bytes[-1] < watch.other_bytes[quarter] * 1.2 + 2_000_000, describe(watch)


@pytest.mark.slow
def test_healthz_answers_while_the_server_is_attacked(tmp_path: Path) -> None:
    watch = attack(tmp_path, 8)
    assert watch.quantile(0.99) < 2, describe(watch)  # the order of magnitude: the machine is shared


@pytest.mark.soak
def test_an_attack_for_ten_minutes_loses_nothing_and_keeps_answering(tmp_path: Path) -> None:
    watch = attack(tmp_path, SOAK_SECONDS)
    quarter = len(watch.resident_kb) // 4
    assert watch.resident_kb[-1] < watch.resident_kb[quarter] * 1.2 + 30_000, describe(watch)
    check_disk(watch)
    assert watch.quantile(0.99) < 0.250, describe(watch)
