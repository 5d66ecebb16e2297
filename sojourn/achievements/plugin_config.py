"""Edits `plugins.enabled` in the `config.yaml` of a Hermes home; comments and line endings are preserved."""

from __future__ import annotations

import io
from collections.abc import MutableMapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from sojourn.core.errors import BadInput

_MAX_WIDTH = 1 << 20  # characters; ruamel must not wrap long lines


def enable_plugin(text: str, name: str) -> str:
    """Returns `text` with `name` in `plugins.enabled`. Raises BadInput if the file cannot be edited."""
    yaml, config = _load(text, name)
    if config is None:  # empty, or comments only: ruamel has nothing to attach them to
        comments = _unix(text).removesuffix("\n") + "\n" if text else ""
        return _with_line_endings_of(text, f"{comments}plugins:\n  enabled:\n    - {name}\n")
    plugins = config.get("plugins")
    if plugins is None:
        plugins = config["plugins"] = CommentedMap()
    if not isinstance(plugins, MutableMapping):
        raise _cannot_edit(name)
    names = plugins.get("enabled")
    if names is None:
        plugins["enabled"] = CommentedSeq([name])
    elif not isinstance(names, CommentedSeq):
        raise _cannot_edit(name)
    elif name in names:
        return text
    else:
        names.insert(0, name)  # comments after a list belong to its last entry
    return _dump(yaml, config, text)


def disable_plugin(text: str, name: str) -> str:
    """Returns `text` without `name` in `plugins.enabled`; unchanged if the name is not there."""
    yaml, config = _load(text, name)
    if not _lists_plugin(config, "enabled", name):
        return text
    plugins = config["plugins"]
    names: CommentedSeq = plugins["enabled"]
    at = names.index(name)
    comment = names.ca.items.pop(at, None)
    del names[at]
    if not names:
        names.fa.set_flow_style()  # `[]`, which has nowhere to keep the comments that followed the entry
        if comment:
            plugins.ca.items["enabled"] = [None, None, comment[0], None]
    elif comment and at:
        _append_comment(names, at - 1, comment)
    return _dump(yaml, config, text)


def is_disabled(text: str, name: str) -> bool:
    """Whether `plugins.disabled` lists `name`."""
    return _lists_plugin(_load(text, name)[1], "disabled", name)


def _lists_plugin(config: Any, key: str, name: str) -> bool:
    plugins = config.get("plugins") if config is not None else None
    names = plugins.get(key) if isinstance(plugins, MutableMapping) else None
    return isinstance(names, CommentedSeq) and name in names


def _append_comment(names: CommentedSeq, at: int, comment: list[Any]) -> None:
    """Adds the comment of a removed entry to that of the entry before it."""
    before = names.ca.items.get(at)
    if before:
        before[0].value += comment[0].value.removeprefix("\n")
    else:
        names.ca.items[at] = comment


def _load(text: str, name: str) -> tuple[YAML, Any]:
    """The parsed document (None if there is nothing in it) and a YAML object that writes it with its indentation."""
    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, _MAX_WIDTH
    try:
        config = yaml.load(_unix(text))
    except YAMLError as error:
        raise _cannot_edit(name) from error
    if config is not None and not isinstance(config, CommentedMap):
        raise _cannot_edit(name)
    if config is not None:
        mapping, offset = _indentation(config)
        yaml.indent(mapping=mapping, sequence=offset + 2, offset=offset)
    return yaml, config


def _indentation(config: CommentedMap) -> tuple[int, int]:
    """The columns by which mappings, and dashes under their key, are indented; preferably in the `plugins` part."""
    parts = [config.get("plugins"), *config.values()]
    blocks = [part for part in parts if isinstance(part, CommentedMap) and part and not part.fa.flow_style()]
    lists = [(part, value) for part in (*blocks, config) for value in part.values() if isinstance(value, CommentedSeq)]
    offsets = (names.lc.col - part.lc.col for part, names in lists if names and not names.fa.flow_style())
    return (blocks[0].lc.col if blocks else 2), next(offsets, 2)


def _dump(yaml: YAML, config: Any, before: str) -> str:
    written = io.StringIO()
    yaml.dump(config, written)
    return _with_line_endings_of(before, written.getvalue())


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _with_line_endings_of(before: str, text: str) -> str:
    return text.replace("\n", "\r\n") if "\r\n" in before else text


def _cannot_edit(name: str) -> BadInput:
    return BadInput(
        "The `plugins` part of config.yaml cannot be edited automatically.",
        hint=f"Add {name} to plugins.enabled yourself, then install again.",
    )
