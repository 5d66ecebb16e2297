"""Renderers of a session: by the name of the format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sojourn.core.sessions import Recorded, Session
from sojourn.text.export import to_markdown
from sojourn.text.html_export import to_html
from sojourn.text.jsonl_export import to_jsonl

Renderer = Callable[[Session, Sequence[Recorded]], Iterator[str]]
RENDERERS: Mapping[str, Renderer] = {"jsonl": to_jsonl, "markdown": to_markdown, "html": to_html}
