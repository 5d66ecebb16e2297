"""A template in the tools of one session: another program's call as a call that works here.

Tools of the same name are not always the same: `patch` of Hermes takes `old_string`, ours takes `old`. What ours take,
need and mean is data, in `tool_names.json`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sojourn.core.messages import Json
from sojourn.templates import tool_names
from sojourn.templates.inject import estimate_template_tokens
from sojourn.templates.model import SessionTemplate, ToolCallExample


@dataclass(frozen=True, slots=True)
class AdaptedTemplate:
    """A template in the tools of one session: what was left out, and which tools have another name here."""

    template: SessionTemplate
    left_out: tuple[str, ...] = ()
    mapped: tuple[str, ...] = ()


def adapt_tools(template: SessionTemplate, available: Collection[str]) -> AdaptedTemplate:
    """Maps examples of tools this session lacks to one that does the same, or leaves them out and lists them.
    A session that names no tools is taken to have them all."""
    if not available:
        return AdaptedTemplate(template)
    examples: list[ToolCallExample] = []
    left_out: list[str] = []
    mapped: list[str] = []
    for example in template.examples:
        tool = tool_names.find_equivalent(example.tool_name, available)
        given = None if tool is None else translate_arguments(tool, example)
        if tool is None:
            left_out.append(f"{example.tool_name} (this session has no such tool)")
        elif given is None:
            left_out.append(f"{example.tool_name} (its arguments do not fit {tool} here)")
        else:
            examples.append(replace(example, tool_name=tool, arguments=given))
            mapped += [f"{example.tool_name} as {tool}"] if tool != example.tool_name else []
    return AdaptedTemplate(
        replace(template, examples=examples), tuple(dict.fromkeys(left_out)), tuple(dict.fromkeys(mapped))
    )


def trim_to_budget(fit: AdaptedTemplate, budget: int) -> AdaptedTemplate:
    """Keeps as many of the first examples as the budget has room for, and lists the others as left out."""
    template = fit.template
    while template.examples and estimate_template_tokens(template) > budget:
        template = replace(template, examples=template.examples[:-1])
    gone = dict.fromkeys(one.tool_name for one in fit.template.examples[len(template.examples) :])
    no_room = [f"{', '.join(gone)} (no room)"] if gone else []
    return replace(fit, template=template, left_out=(*fit.left_out, *no_room))


def translate_arguments(target: str, example: ToolCallExample) -> Mapping[str, Json] | None:
    """The arguments of a call for another program's tool of the same kind; None when they say nothing to it."""
    takes: Mapping[str, str] | None = tool_names.table("takes").get(target)
    if takes is None:
        given = tool_names.rename_arguments(example.arguments, example.tool_name, target)
    else:
        words = {**tool_names.table("implies").get(example.tool_name, {}), **tool_names.in_our_words(example.arguments)}
        given = {takes[name]: value for name, value in words.items() if name in takes}
    if isinstance(given.get("command"), list) and target not in tool_names.table("lists"):
        given["command"] = tool_names.join_command(given["command"])
    for name, meant in tool_names.table("means").get(target, {}).items():
        if isinstance(given.get(name), str):
            given[name] = meant.get(given[name], given[name])
    needs = tool_names.table("needs").get(target)
    return given if needs is None or any(given.get(name) for name in needs) else None
