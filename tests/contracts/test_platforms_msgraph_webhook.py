"""msgraph_webhook, on a server that makes subscriptions and sends notifications as Microsoft Graph does."""

import asyncio
import time
from datetime import datetime

import pytest

from sojourn.core.errors import BadConfig, BadInput, KeyRefused, PlatformDown, SendRefused
from sojourn.core.settings import Secret
from sojourn.platforms import microsoft_identity
from sojourn.platforms.msgraph_webhook import MsgraphSettings, subscriptions
from sojourn.platforms.msgraph_webhook import adapter as msgraph_adapter
from sojourn.platforms.msgraph_webhook.notifications import build_notification, to_inbound
from sojourn.platforms.msgraph_webhook.rich_content import ContentKey, open_key
from sojourn.platforms.msgraph_webhook.subscriptions import KIND, choose_minutes
from sojourn.ports.store import Record
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import InboundListener
from sojourn.testing.platform_steps import listening
from tests.servers.microsoft import CLIENT, OTHER_KEY, build_jwk, sign_token
from tests.servers.msgraph_webhook import CHAT, INBOX, STATE, build_request, key_file, msgraph_rig


@pytest.fixture
async def harness():
    async with msgraph_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestMsgraphWebhook(PlatformContract):
    pass


# subscriptions
async def test_subscriptions_are_made_with_a_state_each_and_their_address_is_checked(harness, adapter):
    async with listening(harness, adapter):
        pass
    chat, inbox = harness.server.find(CHAT)[1], harness.server.find(INBOX)[1]
    assert (chat["changeType"], inbox["changeType"]) == ("created", "created,updated")
    assert chat["clientState"] != inbox["clientState"]
    assert STATE not in chat["clientState"] + inbox["clientState"]
    assert chat["lifecycleNotificationUrl"] == f"{chat['notificationUrl']}/lifecycle"
    assert (chat["includeResourceData"], "includeResourceData" in inbox) == (True, False)
    assert {(status, kind.partition(";")[0]) for status, kind, _ in harness.server.checks} == {(200, "text/plain")}
    left = [datetime.fromisoformat(one["expirationDateTime"]).timestamp() - time.time() for one in (chat, inbox)]
    assert [round(one / 60) for one in left] == [4230, 10_080]


async def test_after_a_restart_they_are_renewed_and_not_made_again(harness, adapter):
    async with listening(harness, adapter):
        pass
    ids = set(harness.server.subscriptions)
    again = harness.connect()
    ear = InboundListener(again)
    ear.open()
    await harness.server.changed.until(lambda: [one for one, _ in harness.server.calls].count("PATCH") == 2)
    await ear.close()
    await again.close()
    assert set(harness.server.subscriptions) == ids


async def test_one_that_is_gone_is_made_again(harness, adapter):
    async with listening(harness, adapter):
        pass
    harness.server.subscriptions.clear()
    again = harness.connect()
    async with listening(harness, again) as ear:
        harness.notify({"value": [harness.server.build_item(INBOX)]})
        await ear.hear()
    await again.close()


async def test_one_whose_secret_is_not_known_any_more_is_replaced(harness, adapter):
    async with listening(harness, adapter):
        pass
    old = harness.server.find(INBOX)[0]
    other = harness.connect(client_state=Secret("another-state-of-ours"))
    ear = InboundListener(other)
    ear.open()
    await harness.server.changed.until(
        lambda: old not in harness.server.subscriptions and len(harness.server.subscriptions) == 2
    )
    await ear.close()
    await other.close()


async def test_one_that_is_not_in_the_settings_any_more_is_removed(harness, adapter):
    async with listening(harness, adapter):
        pass
    del harness.resources["inbox"]
    fewer = harness.connect()
    ear = InboundListener(fewer)
    ear.open()
    await harness.server.changed.until(lambda: ("PATCH", harness.server.find(CHAT)[0]) in harness.server.calls)
    await ear.close()
    await fewer.close()
    assert [one["resource"] for one in harness.server.subscriptions.values()] == [CHAT]
    assert len(await harness.kit.store.list_records(KIND)) == 1


async def test_they_are_renewed_after_two_thirds_of_their_life(harness, adapter, monkeypatch):
    monkeypatch.setattr(subscriptions, "choose_minutes", lambda _: 0.6 / 60)  # 0.6 seconds
    monkeypatch.setattr(subscriptions, "_RETRY_SECONDS", 0.02)
    async with listening(harness, adapter) as ear:
        ear.open()
        await harness.server.changed.until(lambda: [one for one, _ in harness.server.calls].count("PATCH") >= 4)
        assert len(harness.server.subscriptions) == 2
        harness.server.subscription_faults = [503] * 1000
        with pytest.raises(PlatformDown, match="has run out"):
            await ear.hear(seconds=5)


async def test_what_may_not_be_watched_is_said_at_once(harness, adapter):
    harness.server.subscription_faults = [403]
    listener = InboundListener(adapter)
    with pytest.raises(PlatformDown, match="403"):
        await listener.hear()
    await listener.close()


async def test_a_token_that_ran_out_is_renewed(harness, adapter):
    async with listening(harness, adapter) as ear:
        harness.server.tokens.clear()
        item = harness.server.build_item(INBOX, changeType=None, lifecycleEvent="reauthorizationRequired")
        harness.notify({"value": [item]}, "/lifecycle")
        ear.open()
        await harness.server.changed.until(lambda: bool(harness.server.tokens))


# lifecycle
async def test_lifecycle_notifications_renew_make_again_and_warn(harness, adapter):
    async with listening(harness, adapter) as ear:
        first = harness.server.find(INBOX)[0]

        def tell(event):
            item = harness.server.build_item(INBOX, id=None, changeType=None, lifecycleEvent=event)
            harness.notify({"value": [item]}, "/lifecycle")

        tell("reauthorizationRequired")
        await ear.hears_nothing()
        assert ("PATCH", first) in harness.server.calls
        tell("missed")
        assert "lost notifications" in (await ear.hear()).text
        tell("subscriptionRemoved")
        told = await ear.hear()
        assert (told.sender.id, "lost notifications" in told.text) == ("inbox", True)
        del harness.server.subscriptions[first]
        ear.open()
        await harness.server.changed.until(lambda: len(harness.server.subscriptions) == 2)
        assert harness.server.find(INBOX)[0] != first


# notifications
async def test_a_plain_notification_says_what_changed(harness, adapter):
    async with listening(harness, adapter) as ear:
        harness.notify({"value": [harness.server.build_item(INBOX, changeType="updated")]})
        heard = await ear.hear()
    assert heard.text.startswith(f"updated: {INBOX}('1')\n")
    assert '"id": "1"' in heard.text
    assert (heard.sender.id, heard.place.chat) == ("inbox", "inbox")


async def test_several_in_one_request_are_answered_when_the_last_is_stored(harness, adapter):
    async with listening(harness, adapter) as ear:
        items = [harness.server.build_item(INBOX) for _ in range(3)]
        foreign = harness.server.build_item(INBOX, clientState="x")
        harness.notify({"value": [foreign, *items]})
        heard = [(await ear.hear()).id for _ in items]
        assert harness.sender.answers == []
        ear.open()
        await harness.sender.until_sent()
    assert heard == [f"inbox/{one['id']}" for one in items]
    assert harness.sender.answers[0].status_code == 202


async def test_what_is_not_stored_in_time_is_told_again(harness, monkeypatch):
    monkeypatch.setattr(msgraph_adapter, "_STORE_TIMEOUT_SECONDS", 0.1)
    adapter = harness.connect()
    async with listening(harness, adapter) as ear:
        path, body, headers = build_request({"value": [harness.server.build_item(INBOX)]})
        late, _ = await asyncio.gather(harness.http.post(path, content=body, headers=headers), ear.hear())
        await ear.hears_nothing()
        again = await harness.http.post(path, content=body, headers=headers)
    assert (late.status_code, again.status_code) == (503, 202)
    await adapter.close()


def test_without_a_number_the_version_tells_changes_apart():
    def build(version, **more):
        item = {
            "subscriptionId": "s",
            "resource": "r",
            "changeType": "updated",
            "resourceData": {"@odata.etag": version},
        }
        return build_notification("inbox", item | more, {}).id

    assert build("1") == build("1") != build("2")
    assert build("") != build("")
    assert build("1", id="n") == build("2", id="n") == "inbox/n"


async def test_a_message_in_html_becomes_words(harness, adapter):
    page = "<style>p {}</style><div>Water &amp; <b>thyme</b></div><p>now<br>please</p><script>x()</script>"
    async with listening(harness, adapter) as ear:
        harness.notify(harness.server.build_message("", body={"contentType": "html", "content": page}))
        heard = await ear.hear()
    assert heard.text == "Water & **thyme**\n\nnow\nplease"
    assert heard.sender.name == "Ann (garden)"


def test_a_thing_that_is_no_chat_message_is_told_whole():
    content = {"@odata.type": "#Microsoft.Graph.event", "subject": "Tea"}
    heard = to_inbound(build_notification("garden", {"changeType": "created", "resource": "r"}, content))
    assert heard.text == 'created: r\n{\n "@odata.type": "#Microsoft.Graph.event",\n "subject": "Tea"\n}'


# who may send
TOKENS = {
    "another issuer": {"iss": "https://login.microsoftonline.com/33333333/v2.0"},
    "another application": {"aud": "33333333"},
    "another sender": {"azp": "33333333"},
    "an old token": {"exp": int(time.time()) - 600},
    "a token to come": {"nbf": int(time.time()) + 900},
    "no end": {"exp": None},
    "no issuer": {"iss": None},
}


@pytest.mark.parametrize("name", TOKENS)
async def test_rich_notifications_need_a_token_of_graph(harness, adapter, name):
    async with listening(harness, adapter) as ear:
        document = harness.server.build_message("evil") | {
            "validationTokens": [harness.server.build_token(**TOKENS[name])]
        }
        path, body, headers = build_request(document)
        assert (await harness.http.post(path, content=body, headers=headers)).status_code == 401
        await ear.hears_nothing()


@pytest.mark.parametrize(
    "tokens",
    [
        None,
        [],
        "x",
        [7],
        ["a.b.c"],
        ["x" * 50_000],
        [sign_token({"iss": "x", "aud": CLIENT}, OTHER_KEY)],
        [sign_token({"iss": "x", "aud": CLIENT}, "a-secret-that-is-long-enough-here", algorithm="HS256")],
        [sign_token({"iss": "x", "aud": CLIENT}, "", algorithm="none")],
        [sign_token({"iss": "x", "aud": CLIENT}, id=None)],
        [sign_token({"iss": "x", "aud": CLIENT}, id="another")],
    ],
)
async def test_tokens_that_microsoft_did_not_sign_are_refused(harness, adapter, tokens):
    async with listening(harness, adapter) as ear:
        path, body, headers = build_request(harness.server.build_message("evil") | {"validationTokens": tokens})
        assert (await harness.http.post(path, content=body, headers=headers)).status_code == 401
        await ear.hears_nothing()


async def test_a_new_key_is_fetched_once_and_not_for_every_unknown_one(harness, adapter, monkeypatch):
    async with listening(harness, adapter) as ear:
        harness.notify(harness.server.build_message("one"))
        await ear.hear()
        ear.open()
        await harness.sender.until_sent()
        claims = {
            "iss": f"{harness.server.url}/11111111-aaaa/v2.0",
            "aud": CLIENT,
            "appid": "0bf30f3b-4a52-48df-9a82-234910c4a086",
        }
        fresh = harness.server.build_message("two") | {"validationTokens": [sign_token(claims, OTHER_KEY, "key-2")]}
        harness.server.keys.append(build_jwk(OTHER_KEY, "key-2"))
        path, body, headers = build_request(fresh)
        for _ in range(3):
            assert (await harness.http.post(path, content=body, headers=headers)).status_code == 401
        assert harness.server.key_fetches == 1
        monkeypatch.setattr(microsoft_identity, "_RETRY_SECONDS", -1.0)
        harness.notify(fresh)
        assert (await ear.hear()).text == "two"
    assert harness.server.key_fetches == 2


async def test_keys_on_another_server_are_not_used(harness, adapter):
    harness.server.keys_url = "https://evil.example/keys"
    async with listening(harness, adapter) as ear:
        path, body, headers = build_request(harness.server.build_message("evil"))
        assert (await harness.http.post(path, content=body, headers=headers)).status_code == 503
        await ear.hears_nothing()


@pytest.mark.parametrize("part", ["data", "dataKey", "dataSignature", "encryptionCertificateId"])
async def test_content_that_was_changed_is_refused(harness, adapter, part):
    async with listening(harness, adapter) as ear:
        for value in ("", "AAAA", "?", 7, None):
            document = harness.server.build_message("evil")
            document["value"][0]["encryptedContent"][part] = value
            path, body, headers = build_request(document)
            assert (await harness.http.post(path, content=body, headers=headers)).status_code == 401
        await ear.hears_nothing()


async def test_an_address_is_only_confirmed_while_it_is_checked(harness, adapter):
    async with listening(harness, adapter) as ear:
        await ear.hears_nothing()
        reply = await harness.http.post("/msgraph_webhook", params={"validationToken": "<b>hello</b>"})
    assert (reply.status_code, "hello" in reply.text) == (400, False)


# set-up
def test_a_key_is_made_in_the_home_and_only_its_owner_can_read_it(tmp_path):
    made = open_key(tmp_path / "home" / "key.pem")
    assert (tmp_path / "home" / "key.pem").stat().st_mode & 0o777 == 0o600
    assert open_key(tmp_path / "home" / "key.pem").id == made.id
    for pem in (b"", b"x", key_file().read_bytes().partition(b"-----BEGIN CERTIFICATE")[0]):
        with pytest.raises(BadConfig):
            ContentKey(pem)


@pytest.mark.parametrize(
    "more",
    [
        {"resources": {}},
        {"resources": []},
        {"resources": {"a b": {"resource": "x"}}},
        {"resources": {"a": {}}},
        {"resources": {"a": {"resource": "x", "changes": "read"}}},
        {"resources": {"a": {"resource": "x", "minutes": "long"}}},
        {"resources": {"a": {"resource": "x", "other": 1}}},
        {"resources": {"a": {"resource": "x", "deliver": "https://a.example", "secret": "short"}}},
        {"client_state": Secret("short")},
    ],
)
def test_settings_that_cannot_work_are_said(harness, more):
    with pytest.raises(BadConfig) as refused:
        harness.connect(**more)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("resource", "rich", "minutes"),
    [
        ("chats/1/messages", False, 4230),
        ("teams/getAllMessages", True, 4230),
        ("users/a/messages", False, 10_080),
        ("users/a/mailFolders('inbox')/messages", True, 1440),
        ("me/events", False, 10_080),
        ("users/a/drive/root", False, 42_300),
        ("users", False, 41_760),
        ("communications/presences/1", False, 60),
        ("communications/callRecords", False, 4230),
        ("something/new", False, 4230),
    ],
)
def test_a_subscription_lives_as_long_as_graph_allows(resource, rich, minutes):
    tables = {"a": {"resource": resource, "rich": rich}, "b": {"resource": resource, "minutes": 5}}
    secrets = {"client_secret": Secret("x"), "client_state": Secret(STATE)}
    settings = MsgraphSettings(
        tenant="t", client_id="c", public_url="https://x", resource="", resources=tables, **secrets
    )
    assert [choose_minutes(one) for one in settings.parse_resources().values()] == [minutes, 5]


def test_the_first_resource_is_called_main_and_can_be_told_more_about(harness):
    made = harness.connect(resource="/me/events", resources={"main": {"resource": "me/events", "minutes": 5}})
    assert made.home("main").chat == "main"
    assert harness.connect(resource="/me/events", resources={}).home("main").chat == "main"


async def test_what_has_no_address_for_answers_says_so(adapter):
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home("inbox"), "hello")
    assert (refused.value.kind, "resources.inbox" in refused.value.hint) == ("forbidden", True)
    with pytest.raises(BadInput):
        adapter.home("nothing")


async def test_a_refused_secret_of_a_saved_subscription_is_said(harness):
    await harness.kit.store.put_record(Record(kind=KIND, key=f"{CLIENT}:gone", value={"id": "x"}))
    wrong = harness.connect_wrongly()
    listener = InboundListener(wrong)
    with pytest.raises(KeyRefused):
        await listener.hear()
    await listener.close()
    await wrong.close()
