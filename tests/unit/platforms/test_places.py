"""Which place a chat's name stands for, on networks where the name alone has to tell."""

import pytest

from sojourn.core.errors import BadInput
from sojourn.core.places import Sender, build_session_key
from sojourn.core.settings import Secret
from sojourn.platforms.discord import DiscordSettings
from sojourn.platforms.discord.adapter import Discord
from sojourn.platforms.discord.messages import place_from_name as on_discord
from sojourn.platforms.slack import SlackSettings
from sojourn.platforms.slack.adapter import Slack
from sojourn.platforms.slack.messages import place_from_name as on_slack
from sojourn.platforms.telegram.messages import place_from_name as on_telegram
from tests.servers.adapter_context import AdapterKit

ANN = Sender(id="501")


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("501", "telegram:dm:501"),
        ("501/7", "telegram:dm:501:7"),
        ("-1001", "telegram:group:-1001:501"),
        (" -1001/7 ", "telegram:thread:-1001:7"),
    ],
)
def test_telegrams_numbers_tell_people_from_groups(words, key):
    assert build_session_key(on_telegram(words), ANN) == key


@pytest.mark.parametrize("words", ["", "0", "ann", "@garden", "12/x", "--5", "1.5"])
def test_what_is_no_number_is_no_chat_of_telegram(words):
    with pytest.raises(BadInput, match="not a Telegram chat"):
        on_telegram(words)


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("@me/900", "discord:dm:900"),
        ("801", "discord:group:801:501"),
        ("800/801", "discord:group:801:501"),
        ("https://discord.com/channels/800/801", "discord:group:801:501"),
        ("https://discord.com/channels/@me/900", "discord:dm:900"),
    ],
)
def test_discords_ids_and_links_name_a_channel(words, key):
    assert build_session_key(on_discord(words, None), ANN) == key


@pytest.mark.parametrize("words", ["", "garden", "x/801", "800/garden"])
def test_what_is_no_id_is_no_channel_of_discord(words):
    with pytest.raises(BadInput, match="not a Discord channel"):
        on_discord(words, None)


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("C1", "slack:group:T0:C1:501"),
        ("T9/C1", "slack:group:T9:C1:501"),
        ("D1", "slack:dm:T0:D1"),
        ("T0/C1/1700000000.000100", "slack:thread:T0:C1:1700000000.000100"),
        ("T0/D1/1700000000.000100", "slack:dm:T0:D1:1700000000.000100"),
    ],
)
def test_slacks_ids_belong_to_a_workspace(words, key):
    assert build_session_key(on_slack(words, "T0"), ANN) == key


@pytest.mark.parametrize("words", ["", "#garden", "U123", "T0", "T0/", "c1", "C1/2/3"])
def test_what_is_no_channel_of_slack_is_refused(words):
    with pytest.raises(BadInput, match="not a Slack channel"):
        on_slack(words, "T0")


def test_a_channel_of_an_unknown_workspace_says_how_to_name_it():
    with pytest.raises(BadInput) as refused:
        on_slack("C1", "")
    assert "SOJOURN_SLACK_TEAM" in refused.value.hint


def test_an_account_is_known_by_its_public_part():
    assert Discord(AdapterKit(DiscordSettings(token=Secret("NzAw.x.y")))).account == "700"
    slack = SlackSettings(token=Secret("xoxb-1-2-s"), app_token=Secret("xapp-1-A0RIG-3-secret"))
    assert Slack(AdapterKit(slack)).account == "A0RIG"


def test_an_odd_token_is_hashed_and_not_shown():
    odd = Discord(AdapterKit(DiscordSettings(token=Secret("not a token"))))
    assert odd.account == Discord(AdapterKit(DiscordSettings(token=Secret("not a token")))).account
    assert "token" not in odd.account
