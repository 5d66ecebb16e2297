"""`/v1/embeddings`: OpenAI's address of the route that the plugin `memory` has for its embedder."""

from __future__ import annotations

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

PATH, TARGET = "/v1/embeddings", "/api/plugins/memory/embeddings"


class EmbeddingsRoute:
    """An ASGI application that answers as the plugin's route does. Who asks was checked before."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["app"].router({**scope, "path": TARGET, "raw_path": TARGET.encode()}, receive, send)


route = Route(PATH, endpoint=EmbeddingsRoute(), methods=["POST"])
