"""The contract every store keeps: same questions, same answers as the store in memory.

    class TestMine(StoreContract):
        @pytest.fixture
        async def store(self, tmp_path): ...        # an empty store, closed afterwards

        @pytest.fixture
        async def again(self, store): ...           # the same data opened once more, as another process would;
                                                    # None where that cannot be
        @pytest.fixture
        def fresh(self): ...                        # fresh(), fresh(redactor=…): more empty stores, closed afterwards

Needs pytest and pytest-asyncio in its automatic mode.
"""

from __future__ import annotations

from sojourn.testing.store_along import AlongContract
from sojourn.testing.store_handoffs import HandoffsContract
from sojourn.testing.store_history import HistoryContract
from sojourn.testing.store_ingest import IngestContract
from sojourn.testing.store_journal import JournalContract
from sojourn.testing.store_log import LogContract
from sojourn.testing.store_records import RecordsContract
from sojourn.testing.store_removal import RemovalContract
from sojourn.testing.store_search import SearchContract
from sojourn.testing.store_secrets import SecretsContract
from sojourn.testing.store_sessions import SessionsContract
from sojourn.testing.store_upkeep import UpkeepContract
from sojourn.testing.store_watch import WatchContract
from sojourn.testing.store_wheel import WheelContract


class StoreContract(
    SessionsContract,
    LogContract,
    AlongContract,
    WheelContract,
    WatchContract,
    SearchContract,
    SecretsContract,
    RemovalContract,
    IngestContract,
    UpkeepContract,
    HistoryContract,
    RecordsContract,
    HandoffsContract,
    JournalContract,
):
    """All of it. The parts can be used one by one while a store is being written."""
