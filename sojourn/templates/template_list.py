"""Template list: the names and kinds of templates, for the service."""

from __future__ import annotations

from sojourn.ports.app import HasStore
from sojourn.ports.libraries import TemplateInfo
from sojourn.templates.factory import library_of


class TemplateList:
    """Lists templates for the service; everything else about them is `sojourn templates` and its routes."""

    def __init__(self, app: HasStore) -> None:
        self._library = library_of(app)

    async def list_templates(self) -> list[TemplateInfo]:
        found = await self._library.all()
        usable = [
            TemplateInfo(
                name=one.template.name,
                kind=one.template.task_type.value,
                description=one.template.description,
                examples=len(one.template.examples),
                usage_count=one.template.usage_count,
            )
            for one in found.stored
        ]
        return [*usable, *(TemplateInfo(name=one.name, problem=one.problem) for one in found.unreadable)]
