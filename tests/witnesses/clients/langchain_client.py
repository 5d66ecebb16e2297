"""LangChain's chat model for OpenAI's API."""

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from witness_cells import ORIGIN, PICTURE, QUESTION, TOKEN, run, talk


def model(name="default"):
    return ChatOpenAI(base_url=f"{ORIGIN}/v1", api_key=TOKEN, model=name, max_retries=0)


@tool
def look(place: str) -> str:
    """Look at a place."""
    return place


class Answer(BaseModel):
    """An answer."""

    text: str


def ask(messages):
    kinds = {"user": HumanMessage, "assistant": AIMessage}
    return model().invoke([kinds[role](text) for role, text in messages]).content


picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
run(
    "langchain",
    answer=lambda: model().invoke(QUESTION).content,
    stream=lambda: "".join(part.content for part in model().stream(QUESTION)),
    tools=lambda: model().bind_tools([look]).invoke(QUESTION).content,
    structured=lambda: str(model().with_structured_output(Answer).invoke(QUESTION)),
    pictures=lambda: model().invoke([HumanMessage([{"type": "text", "text": QUESTION}, picture])]).content,
    errors=lambda: model("nope").invoke("x").content,
    turns=lambda: talk("langchain", ask),
)
