"""The test harness of `discord`: what people do there, on a server that speaks Discord's protocol."""

from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.discord import DiscordSettings
from sojourn.platforms.discord.adapter import Discord
from sojourn.ports.platform import Button, File, PlatformAdapter
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.discord_payloads import ANN, BEN, BOT, DM, GARDEN, GUILD, TOKEN, Refused
from tests.servers.discord_server import DiscordServer
from tests.servers.platform_server import WiredHarness, wired


class DiscordHarness(WiredHarness[DiscordServer]):
    lacks: Mapping[str, str] = {"bad format": "Discord shows any text, whatever the marks in it"}
    secret = TOKEN
    chats: Mapping[PlaceKind, str] = {"dm": f"@me/{DM}", "group": f"{GUILD}/{GARDEN}"}
    threads: Sequence[PlaceKind] = ("group",)
    people = (ANN, BEN)

    def __init__(self, server: DiscordServer) -> None:
        self.server, self.kit = server, AdapterKit(None)

    def connect(self, token: str = TOKEN) -> Discord:
        return Discord(With(self.kit, DiscordSettings(token=Secret(token), base_url=f"{self.server.url}/api")))

    def connect_wrongly(self) -> PlatformAdapter:
        return self.connect("NzAw.harness.wrong")

    async def until_listening(self) -> None:
        await self.server.until_linked()

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        if place.kind != "dm":
            text = f"<@{BOT}> {text}"
        return str((await self.server.say(int(place.chat), by, text, uploads=files))["id"])

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return self.server.posts.get(int(place.chat), [])

    async def press(self, place: Place, posted: PostedMessage, button: Button, by: Sender) -> None:
        await self.server.press(int(place.chat), posted, button.value, by)

    def refusals(self, retry_after: float | None) -> Mapping[str, Refused]:
        return {
            "rate_limited": Refused(
                429, 0, "You are being rate limited.", retry_after=retry_after, headers={"Via": "1"}
            ),
            "forbidden": Refused(403, 50007, "Cannot send messages to this user"),
            "not_found": Refused(404, 10003, "Unknown Channel"),
        }


@asynccontextmanager
async def discord_rig():
    async with wired(DiscordServer()) as server:
        harness = DiscordHarness(server)
        yield harness
        await harness.kit.close()
