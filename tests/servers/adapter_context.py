"""The context of one adapter: a SQLite store and the settings of the test."""

from pathlib import Path
from typing import Any

from sojourn.testing.app import FakeApp, make_settings
from tests.servers.store import temporary_store


class AdapterKit(FakeApp):
    """The same store for every adapter made with it, as for one gateway that is started again."""

    def __init__(self, configured: Any, home: Path = Path("/nowhere/.sojourn")) -> None:
        super().__init__(store=temporary_store(), settings=make_settings(home))
        self._configured = configured

    def configured(self, plugin: str) -> Any:
        return self._configured


class With:
    """The same kit, but other settings."""

    def __init__(self, kit: AdapterKit, configured: Any) -> None:
        self._kit, self._configured = kit, configured

    def configured(self, plugin: str) -> Any:
        return self._configured

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kit, name)
