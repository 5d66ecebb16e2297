"""`llm`, with a model of its file for OpenAI-compatible servers."""

import base64
import os
import tempfile
from pathlib import Path

from witness_cells import ORIGIN, PICTURE, QUESTION, TOKEN, run, talk

folder = Path(tempfile.mkdtemp())
os.environ["LLM_USER_PATH"] = str(folder)
(folder / "extra-openai-models.yaml").write_text(
    "".join(
        f"- model_id: {name}\n  model_name: {model}\n  api_base: {ORIGIN}/v1\n  api_key_name: sojourn\n  vision: true\n"
        for name, model in (("sojourn", "default"), ("broken", "nope"))
    )
)
import llm  # noqa: E402  reads its folder when it is imported

model = llm.get_model("sojourn")
model.key = TOKEN
conversation = model.conversation()


def broken():
    other = llm.get_model("broken")
    other.key = TOKEN
    return other.prompt("x", stream=False).text()


picture = llm.Attachment(content=base64.b64decode(PICTURE), type="image/png")
run(
    "llm",
    answer=lambda: model.prompt(QUESTION, stream=False).text(),
    stream=lambda: "".join(model.prompt(QUESTION)),
    pictures=lambda: model.prompt(QUESTION, attachments=[picture], stream=False).text(),
    errors=broken,
    turns=lambda: talk("llm", lambda messages: conversation.prompt(messages[-1][1], stream=False).text()),
)
