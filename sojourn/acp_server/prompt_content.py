"""Reads a prompt's content blocks: text and mentioned files as text, pictures and other data as attachments."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json
from sojourn.jsonrpc import Params, as_object, list_objects

_MAX_FILE_BYTES = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFile:
    """A file that a prompt carries."""

    data: bytes
    media_type: str
    name: str = ""


def parse_prompt(blocks: Json) -> tuple[str, list[PromptFile]]:
    """The text of a prompt and its files. BadInput for an empty one, or one with data that cannot be read."""
    texts, files = list[str](), list[PromptFile]()
    for block in list_objects(blocks):
        for piece in _parse_block(block):
            if isinstance(piece, PromptFile):
                files.append(piece)
            else:
                texts.append(piece)
    text = "\n".join(part for part in texts if part).strip()
    if not text and not files:
        raise BadInput("The prompt is empty.", hint="Send a text, a picture or a file.")
    return text, files


def _parse_block(block: Params) -> Iterator[str | PromptFile]:
    kind = block.get("type")
    if kind == "text":
        yield str(block.get("text") or "")
    elif kind in ("image", "audio"):
        yield _to_file(block.get("data"), str(block.get("mimeType") or "application/octet-stream"), block.get("uri"))
    elif kind == "resource_link":
        yield _name_of(block.get("uri")) or str(block.get("name") or "")
    elif kind == "resource":
        resource = as_object(block.get("resource"))
        uri, text = resource.get("uri"), resource.get("text")
        if isinstance(text, str):
            yield f"{_name_of(uri)}:\n{_fence(text)}"
        else:
            yield _to_file(
                resource.get("blob"), str(resource.get("mimeType") or "application/octet-stream"), resource.get("uri")
            )
    else:
        raise BadInput(f"The prompt has a part of the unknown kind {kind!r}.", hint="Leave it out.")


def _name_of(uri: Json) -> str:
    """A file's address as its path; any other address as it is."""
    text = str(uri or "")
    parts = urlsplit(text)
    return unquote(parts.path) if parts.scheme == "file" else text


def _fence(text: str) -> str:
    """The text in a code block that nothing in the text can end."""
    marks = "```"
    while marks in text:
        marks += "`"
    return f"{marks}\n{text.rstrip()}\n{marks}"


def _to_file(data: Json, media_type: str, uri: Json) -> PromptFile:
    name = PurePosixPath(_name_of(uri)).name or f"{media_type.partition('/')[0]}"
    try:
        found = base64.b64decode(data if isinstance(data, str) else "", validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput(f"{name} is not valid base64.", hint="Attach it again.") from error
    if not found or len(found) > _MAX_FILE_BYTES:
        raise BadInput(f"{name} is {'larger than 20 MB' if found else 'empty'}.", hint="Name its path instead.")
    return PromptFile(data=found, media_type=media_type, name=name)
