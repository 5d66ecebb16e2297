"""Runs Twilio's own package: checks a signature, sends, and lists what came in; started by test_witnesses.py."""

import json
import sys

from twilio.base.exceptions import TwilioRestException
from twilio.http.http_client import TwilioHttpClient
from twilio.request_validator import RequestValidator
from twilio.rest import Client

account, token, server, call = *sys.argv[1:4], json.loads(sys.argv[4])


class LocalClient(TwilioHttpClient):
    """Twilio's transport, led to our server."""

    def request(self, method, url, *args, **kwargs):
        return super().request(method, url.replace("https://api.twilio.com", server), *args, **kwargs)


client = Client(account, token, http_client=LocalClient())
is_valid = RequestValidator(token).validate(call["url"], call["fields"], call["signature"])
sent = client.messages.create(to=call["to"], from_=call["from"], body="from Twilio's package")
listed = [[one.sid, one.body, one.direction] for one in client.messages.list(to=call["from"], limit=5)]
try:
    client.messages.create(to=call["to"], from_=call["from"], body="to be refused")
    refused = 0
except TwilioRestException as error:
    refused = error.code
print(json.dumps({"valid": is_valid, "sid": sent.sid, "listed": listed, "refused": refused}), flush=True)
