"""Anthropic's own client."""

from anthropic import Anthropic
from witness_cells import ORIGIN, PICTURE, QUESTION, TOKEN, run, talk

client = Anthropic(base_url=ORIGIN, api_key=TOKEN, max_retries=0)
TOOL = {"name": "look", "input_schema": {"type": "object", "properties": {}}}


def create(messages, model="default", **options):
    return client.messages.create(model=model, max_tokens=100, messages=messages, **options).content[0].text


def say(content, **options):
    return create([{"role": "user", "content": content}], **options)


def stream():
    asked = [{"role": "user", "content": QUESTION}]
    with client.messages.stream(model="default", max_tokens=100, messages=asked) as parts:
        text = "".join(parts.text_stream)
        return text if parts.get_final_message().content[0].text == text else "the end differs"


picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
run(
    "anthropic",
    list=lambda: [one.id for one in client.models.list()],
    answer=lambda: say(QUESTION, system="Be brief."),
    stream=stream,
    tools=lambda: say(QUESTION, tools=[TOOL]),
    pictures=lambda: say([{"type": "text", "text": QUESTION}, picture]),
    errors=lambda: say("x", model="nope"),
    turns=lambda: talk("anthropic", lambda said: create([{"role": role, "content": text} for role, text in said])),
)
