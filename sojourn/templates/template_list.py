"""Template list: the names and kinds of templates, and those that fit a request."""

from __future__ import annotations

from sojourn.ports.app import HasStore
from sojourn.ports.libraries import TemplateInfo
from sojourn.templates.factory import library_of
from sojourn.templates.inject import to_example_messages
from sojourn.templates.library import StoredTemplate
from sojourn.templates.relevance import rank_templates, select_within_budget
from sojourn.templates.tool_translation import AdaptedTemplate, trim_to_budget
from sojourn.text.template_examples import render_examples


class TemplateList:
    """Lists and finds templates; everything else about them is `sojourn templates` and its routes."""

    def __init__(self, app: HasStore) -> None:
        self._library = library_of(app)

    async def list_templates(self) -> list[TemplateInfo]:
        found = await self._library.all()
        usable = [_to_info(one) for one in found.stored]
        return [*usable, *(TemplateInfo(name=one.name, problem=one.problem) for one in found.unreadable)]

    async def find_templates(self, text: str, budget: int) -> list[tuple[TemplateInfo, str, str]]:
        """The templates that fit a request, best first, each with why, and its examples as text. Nothing is counted."""
        chosen, _ = select_within_budget(rank_templates(text, (await self._library.all()).stored), budget)
        found = list[tuple[TemplateInfo, str, str]]()
        for one in chosen:
            fit = trim_to_budget(AdaptedTemplate(one.stored.template), budget)
            budget -= min(one.tokens, budget)
            found.append((_to_info(one.stored), one.because, render_examples(to_example_messages(fit.template))))
        return found


def _to_info(stored: StoredTemplate) -> TemplateInfo:
    template = stored.template
    return TemplateInfo(
        name=template.name,
        kind=template.task_type.value,
        description=template.description,
        examples=len(template.examples),
        usage_count=template.usage_count,
    )
