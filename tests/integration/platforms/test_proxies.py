"""Behind a proxy: every kind of client that adapters use goes through the one of the environment."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from sojourn.core.errors import SojournError
from sojourn.core.settings import Secret
from sojourn.platforms.discord import DiscordSettings
from sojourn.platforms.discord.adapter import Discord
from sojourn.platforms.downloads import VendorDownloads, fetch_once
from sojourn.platforms.homeassistant import HomeAssistantSettings
from sojourn.platforms.homeassistant.adapter import HomeAssistant
from sojourn.platforms.matrix import MatrixSettings
from sojourn.platforms.matrix.adapter import Matrix
from sojourn.platforms.mattermost import MattermostSettings
from sojourn.platforms.mattermost.adapter import Mattermost
from sojourn.platforms.slack import SlackSettings
from sojourn.platforms.slack.adapter import Slack
from tests.servers.adapter_context import AdapterKit

URL = "http://chat.invalid"
TOKEN = Secret("a.b.c")


def ask_mattermost(url):
    return Mattermost(AdapterKit(MattermostSettings(url=url, token=TOKEN)))


def ask_discord(url):
    return Discord(AdapterKit(DiscordSettings(token=TOKEN, base_url=url)))


def ask_slack(url):
    return Slack(AdapterKit(SlackSettings(token=TOKEN, app_token=TOKEN, base_url=url)))


def ask_matrix(url):
    return Matrix(AdapterKit(MatrixSettings(homeserver=url, user="@a:b", access_token=TOKEN, encryption=False)))


class HouseSocket(HomeAssistant):
    async def identify(self):
        async for _ in self.listen():
            pass


def ask_house(url):
    return HouseSocket(AdapterKit(HomeAssistantSettings(url=url, token=TOKEN)))


class Files:
    """A file that is downloaded, as if it were an adapter."""

    def __init__(self, url):
        self._url = f"{url}/a.png"

    async def identify(self):
        await fetch_once(VendorDownloads("The network", (), origin=self._url), self._url, "a.png")

    async def close(self):
        """It has closed itself."""


@asynccontextmanager
async def open_proxy():
    """Refuses everything, and notes what it was asked for."""
    asked = list[str]()

    async def refuse(reader, writer):
        asked.append((await reader.readline()).decode())
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked


@pytest.mark.parametrize("make", [ask_mattermost, ask_discord, ask_slack, ask_matrix, ask_house, Files])
async def test_the_proxy_of_the_environment_is_used(make, monkeypatch):
    async with open_proxy() as (proxy, asked):
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy)
        asker = make(URL)
        with pytest.raises(SojournError):
            await asker.identify()
        await asker.close()
        assert asked
        assert "chat.invalid" in asked[0]


@pytest.mark.parametrize("make", [ask_discord, ask_matrix])
async def test_a_host_that_is_exempt_is_asked_without_it(make, monkeypatch):
    async with open_proxy() as (proxy, asked):
        for name, value in {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": "127.0.0.1"}.items():
            monkeypatch.setenv(name, value)
        asker = make("http://127.0.0.1:9")
        with pytest.raises(SojournError):
            await asker.identify()
        await asker.close()
        assert asked == []
