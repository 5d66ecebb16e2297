"""OpenAI's own client, on responses."""

from openai import OpenAI
from witness_cells import ORIGIN, PICTURE, QUESTION, TOKEN, run, talk

client = OpenAI(base_url=f"{ORIGIN}/v1", api_key=TOKEN, max_retries=0)
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}
SCHEMA = {"format": {"type": "json_schema", "name": "x", "schema": {"type": "object"}}}


def create(content, **options):
    return client.responses.create(model="default", input=content, **options).output_text


def stream():
    with client.responses.stream(model="default", input=QUESTION) as events:
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        return text if events.get_final_response().output_text == text else "the end differs"


previous = None


def ask(messages):
    global previous
    made = client.responses.create(model="default", input=messages[-1][1], previous_response_id=previous)
    previous = made.id
    return made.output_text


picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}", "detail": "auto"}
seen = [{"role": "user", "content": [{"type": "input_text", "text": QUESTION}, picture]}]
run(
    "responses",
    list=lambda: [one.id for one in client.models.list()],
    answer=lambda: create(QUESTION),
    stream=stream,
    tools=lambda: create(QUESTION, tools=[TOOL]),
    structured=lambda: create(QUESTION, text=SCHEMA),
    pictures=lambda: create(seen),
    errors=lambda: client.responses.create(model="nope", input="x").id,
    turns=lambda: talk("responses", ask),
)
