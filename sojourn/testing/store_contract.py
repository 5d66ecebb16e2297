"""The contract of ports.store.Store: a store passes if its subclass of `StoreContract` passes.

    class TestMine(StoreContract):
        @pytest.fixture
        async def store(self, tmp_path): ...        # an empty store, closed afterwards

        @pytest.fixture
        async def again(self, store): ...           # the same data opened once more, as another process would
        @pytest.fixture
        def fresh(self): ...                        # fresh(), fresh(redactor=…): more empty stores, closed afterwards

Needs pytest and pytest-asyncio in its automatic mode.
"""

from __future__ import annotations

from sojourn.testing.store_branches import BranchesContract
from sojourn.testing.store_continuations import ContinuationsContract
from sojourn.testing.store_facets import FacetsContract
from sojourn.testing.store_folded_chunks import FoldedChunksContract
from sojourn.testing.store_gateway import GatewayStoreContract
from sojourn.testing.store_handoffs import HandoffsContract
from sojourn.testing.store_history import HistoryContract
from sojourn.testing.store_ingest import IngestContract
from sojourn.testing.store_leases import LeasesContract
from sojourn.testing.store_log import LogContract
from sojourn.testing.store_maintenance import MaintenanceContract
from sojourn.testing.store_questions import QuestionsContract
from sojourn.testing.store_ranked_search import RankedSearchContract
from sojourn.testing.store_records import RecordsContract
from sojourn.testing.store_removal import RemovalContract
from sojourn.testing.store_search import SearchContract
from sojourn.testing.store_search_hits import SearchHitsContract
from sojourn.testing.store_secrets import SecretsContract
from sojourn.testing.store_sessions import SessionsContract
from sojourn.testing.store_transactions import TransactionsContract
from sojourn.testing.store_trash import TrashContract
from sojourn.testing.store_watch import WatchContract


class StoreContract(
    SessionsContract,
    LogContract,
    FoldedChunksContract,
    TransactionsContract,
    QuestionsContract,
    LeasesContract,
    WatchContract,
    SearchContract,
    SearchHitsContract,
    RankedSearchContract,
    SecretsContract,
    FacetsContract,
    BranchesContract,
    TrashContract,
    RemovalContract,
    IngestContract,
    ContinuationsContract,
    MaintenanceContract,
    HistoryContract,
    RecordsContract,
    HandoffsContract,
    GatewayStoreContract,
):
    """The whole contract. Its parts can be used one by one while a store is being written."""
