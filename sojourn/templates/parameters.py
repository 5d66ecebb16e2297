"""Values that vary between runs of the same steps become named parameters: `{{path}}`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from sojourn.core.messages import Json
from sojourn.templates.model import ToolCallExample, find_free_name

_PIECE = re.compile(r"\s+|[^\s]+")
_HOLE = re.compile(r"\{\{(\w+)\}\}")
_SHORTEST_CHARACTERS = 4  # characters a value must have to be looked for in results


def parameters_of(examples: Sequence[ToolCallExample]) -> list[str]:
    """The names of the parameters, in order of appearance."""
    texts = [json.dumps(dict(one.arguments), ensure_ascii=False) for one in examples]
    return list(dict.fromkeys(name for text in texts for name in _HOLE.findall(text)))


def generalise_runs(runs: Sequence[Sequence[ToolCallExample]]) -> list[ToolCallExample]:
    """One run that stands for all: the first one, with a parameter wherever the others differ from it.
    The same values in two places are the same parameter."""
    names = _Names()
    merged = []
    for step, example in enumerate(runs[0]):
        others = [run[step] for run in runs[1:]]
        arguments = {
            name: _merge(name, value, [other.arguments.get(name) for other in others], names)
            for name, value in example.arguments.items()
            if all(name in other.arguments for other in others)
        }
        merged.append((example, arguments))
    return [
        replace(example, arguments=arguments, result=names.in_text(example.result)) for example, arguments in merged
    ]


class _Names:
    """The parameters so far, by the values they had in each run."""

    def __init__(self) -> None:
        self._by_values: dict[tuple[str, ...], str] = {}

    def of(self, wish: str, values: Sequence[Json]) -> str:
        key = tuple(str(value) for value in values)
        if key not in self._by_values:
            self._by_values[key] = find_free_name(re.sub(r"\W", "_", wish) or "value", self._by_values.values())
        return f"{{{{{self._by_values[key]}}}}}"

    def in_text(self, text: str) -> str:
        """The result with the first run's values replaced by their names, longest first."""
        for values, name in sorted(self._by_values.items(), key=lambda one: -len(one[0][0])):
            if len(values[0]) >= _SHORTEST_CHARACTERS:
                text = text.replace(values[0], f"{{{{{name}}}}}")
        return text


def _merge(name: str, value: Json, others: Sequence[Json], names: _Names) -> Json:
    if all(other == value for other in others):
        return value
    if isinstance(value, str) and all(isinstance(other, str) for other in others):
        return _merge_text(name, value, others, names)
    if isinstance(value, dict) and all(isinstance(other, dict) for other in others):
        return {
            key: _merge(key, one, [other[key] for other in others], names)
            for key, one in value.items()
            if all(key in other for other in others)
        }
    return names.of(name, [value, *others])


def _merge_text(name: str, value: str, others: Sequence[str], names: _Names) -> str:
    """Word by word where most words are the same, so that `pytest tests/a.py` keeps its `pytest`."""
    pieces = [_PIECE.findall(text) for text in (value, *others)]
    columns = list(zip(*pieces, strict=False))
    visible = [words for words in columns if not words[0].isspace()]
    common = sum(len(set(words)) == 1 for words in visible)
    if len({len(one) for one in pieces}) != 1 or 2 * common < len(visible):
        return names.of(name, [value, *others])
    return "".join(words[0] if len(set(words)) == 1 else names.of(name, words) for words in columns)
