"""ntfy, on a server that speaks its wire."""

from collections.abc import AsyncIterator

import pytest

from sojourn.core.errors import BadConfig, BadInput
from sojourn.platforms.ntfy import NtfySettings
from sojourn.platforms.ntfy.adapter import Ntfy
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.servers.adapter_context import AdapterKit
from tests.servers.ntfy import NtfyHarness


@pytest.fixture
async def harness() -> AsyncIterator[NtfyHarness]:
    async with NtfyHarness() as harness:
        yield harness


@pytest.fixture
async def adapter(harness: NtfyHarness) -> AsyncIterator[Ntfy]:
    made = harness.connect()
    yield made
    await made.close()


class TestNtfy(PlatformContract):
    pass


async def test_a_file_elsewhere_is_not_fetched(harness: NtfyHarness, adapter: Ntfy):
    async with listening(harness, adapter) as ear:
        away = {"name": "x", "type": "image/png", "url": "http://127.0.0.1:9/internal"}
        harness.server._keep(None, "garden", message="look", attachment=away)  # type: ignore[arg-type]
        assert (await ear.hear()).files == ()


async def test_a_file_that_is_gone_is_said(harness: NtfyHarness, adapter: Ntfy):
    async with listening(harness, adapter) as ear:
        gone = {"name": "x", "type": "image/png", "url": f"{harness.url}/file/gone"}
        harness.server._keep(None, "garden", message="look", attachment=gone)  # type: ignore[arg-type]
        assert "could not be downloaded" in (await ear.hear()).text


async def test_markdown_is_asked_for_unless_plain(harness: NtfyHarness, adapter: Ntfy):
    await adapter.send(adapter.home("garden"), "**bold**")
    await adapter.send(adapter.home("garden"), "as it is", plain=True)
    assert [one["markdown"] for one in harness.server.messages] == [True, False]


@pytest.mark.parametrize("topic", ["", "two words", "a/b", "x" * 65])
def test_what_is_no_topic_is_refused(harness: NtfyHarness, adapter: Ntfy, topic: str):
    with pytest.raises(BadInput):
        adapter.home(topic)


@pytest.mark.parametrize("server", ["ntfy.sh", "ftp://ntfy.sh", "https://"])
def test_a_wrong_address_is_said(server: str):
    with pytest.raises(BadConfig, match="ntfy"):
        Ntfy(AdapterKit(NtfySettings(topic="garden", server=server)))
