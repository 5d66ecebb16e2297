"""Many turns at once on one server process: nothing is lost, told twice or out of order. The full bar is in bench."""

from pathlib import Path

import pytest

from bench.streams import Server, measure


@pytest.mark.slow
def test_20_turns_at_once_arrive_whole_and_in_order(tmp_path: Path) -> None:
    server = Server(tmp_path)
    try:
        bare, ours, cost = measure(server, 20, seconds=3, seed=7)
    finally:
        server.close()
    assert (bare.faults, ours.faults) == (0, 0)
    assert ours.events >= 20 * (3 * 20 + 2)
    assert ours.median - bare.median < 100  # milliseconds; generous: the machine is shared
    assert cost["megabytes"] < 300
