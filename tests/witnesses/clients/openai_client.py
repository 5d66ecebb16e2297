"""OpenAI's own client, on chat completions."""

from openai import OpenAI
from witness_cells import ORIGIN, PICTURE, QUESTION, TOKEN, run, talk

client = OpenAI(base_url=f"{ORIGIN}/v1", api_key=TOKEN, max_retries=0)
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}


def create(content, **options):
    return client.chat.completions.create(model="default", messages=[{"role": "user", "content": content}], **options)


def stream():
    parts = create(QUESTION, stream=True, stream_options={"include_usage": True})
    return "".join(part.choices[0].delta.content or "" for part in parts if part.choices)


def ask(messages):
    made = [{"role": role, "content": text} for role, text in messages]
    return client.chat.completions.create(model="default", messages=made).choices[0].message.content


picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
run(
    "openai",
    list=lambda: [one.id for one in client.models.list()] + [client.models.retrieve("default").id],
    answer=lambda: create(QUESTION).choices[0].message.content,
    stream=stream,
    tools=lambda: create(QUESTION, tools=[TOOL]).choices[0].message.content,
    structured=lambda: create(QUESTION, response_format=SCHEMA).choices[0].message.content,
    pictures=lambda: create([{"type": "text", "text": QUESTION}, picture]).choices[0].message.content,
    errors=lambda: client.chat.completions.create(model="nope", messages=[{"role": "user", "content": "x"}]).id,
    turns=lambda: talk("openai", ask),
)
