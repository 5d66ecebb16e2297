"""LiteLLM, with its provider for OpenAI's API."""

import litellm
from witness_cells import ORIGIN, PICTURE, QUESTION, TOKEN, run, talk

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}


def complete(messages, model="default", **options):
    return litellm.completion(
        model=f"openai/{model}", api_base=f"{ORIGIN}/v1", api_key=TOKEN, messages=messages, num_retries=0, **options
    )


def say(content, **options):
    return complete([{"role": "user", "content": content}], **options).choices[0].message.content


def stream():
    parts = complete([{"role": "user", "content": QUESTION}], stream=True)
    return "".join(part.choices[0].delta.content or "" for part in parts)


def ask(messages):
    return complete([{"role": role, "content": text} for role, text in messages]).choices[0].message.content


picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
run(
    "litellm",
    answer=lambda: say(QUESTION),
    stream=stream,
    tools=lambda: say(QUESTION, tools=[TOOL]),
    structured=lambda: say(QUESTION, response_format=SCHEMA),
    pictures=lambda: say([{"type": "text", "text": QUESTION}, picture]),
    errors=lambda: say("x", model="nope"),
    turns=lambda: talk("litellm", ask),
)
