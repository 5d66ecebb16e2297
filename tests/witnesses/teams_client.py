"""Runs Microsoft's own client: checks a request as a bot does, and answers it; started by test_witnesses.py.

Words: the server, the bot's id and secret, the tenant, the header of the request. Its activity comes on standard input.
"""

import asyncio
import json
import sys

import jwt
import requests
from botbuilder.schema import Activity, ChannelAccount  # type: ignore[import-not-found]
from botframework.connector import ConnectorClient  # type: ignore[import-not-found]
from botframework.connector.auth import AppCredentials, ChannelValidation, SimpleCredentialProvider  # type: ignore[import-not-found]

URL, APP, SECRET, TENANT, HEADER = sys.argv[1:]


class Credentials(AppCredentials):  # type: ignore[misc]
    """The client's own need https for the token; what it does with one is the same."""

    def get_access_token(self, force_refresh: bool = False) -> str:
        form = {"grant_type": "client_credentials", "client_id": APP, "client_secret": SECRET}
        scope = f"{self.oauth_scope}/.default"
        reply = requests.post(f"{URL}/{TENANT}/oauth2/v2.0/token", data={**form, "scope": scope}, timeout=10)
        return str(reply.json()["access_token"])


async def run() -> None:
    ChannelValidation.open_id_metadata_endpoint = f"{URL}/v1/.well-known/openidconfiguration"
    activity = Activity.deserialize(json.load(sys.stdin))
    provider = SimpleCredentialProvider(APP, SECRET)
    try:
        identity = await ChannelValidation.authenticate_channel_token_with_service_url(
            HEADER, provider, activity.service_url, activity.channel_id
        )
    except (jwt.PyJWTError, PermissionError) as error:
        print(json.dumps({"refused": type(error).__name__}), flush=True)
        return
    told = {"is_known": identity.is_authenticated, "text": activity.text, "by": activity.from_property.aad_object_id}
    told |= {"chat": activity.conversation.id, "kind": activity.conversation.conversation_type}
    client = ConnectorClient(Credentials(APP, TENANT), base_url=activity.service_url)
    answer = Activity(type="message", text="good morning, Ann", from_property=ChannelAccount(id=APP))
    sent = client.conversations.send_to_conversation(activity.conversation.id, answer)
    answer.text = "good night, Ann"
    client.conversations.update_activity(activity.conversation.id, sent.id, answer)
    print(json.dumps(told | {"sent": sent.id}), flush=True)


asyncio.run(run())
