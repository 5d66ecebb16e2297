"""The tools `skills_list` and `skill_view`: instructions for particular kinds of work."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from sojourn.core.errors import BadInput, NotFound
from sojourn.ports.app import HasSettings
from sojourn.ports.libraries import Skill, SkillProblem
from sojourn.ports.tool import Tool, ToolResult, Workspace
from sojourn.skill_files import read_skills, skill_folders
from sojourn.tool_schema import tool
from sojourn.tools.file_window import read_window
from sojourn.tools.safe_open import ResolvedPath, open_file

MAX_LISTED_FILES = 100  # of a skill's folder that are named


def skills_list_tool(app: HasSettings) -> Tool:
    @tool(guests=True, origins=())
    async def skills_list(at: Workspace, about: str = "") -> ToolResult:
        """Lists the skills there are: instructions for particular kinds of work. Read one with skill_view.

        about: only those whose name or description holds this word
        """
        read = await _read_skills(app)
        skills = [
            one for one in read if isinstance(one, Skill) and about.lower() in f"{one.name} {one.description}".lower()
        ]
        lines = [f"- {one.name}: {one.description}" for one in skills]
        broken = [f"- {one.path}: {one.why}" for one in read if isinstance(one, SkillProblem)]
        if broken:
            lines += ["", "Not usable:", *broken]
        text = "\n".join(lines) or "There are no skills."
        return ToolResult(text=text, facts={"skills": len(skills), "problems": len(broken)})

    return skills_list


def skill_view_tool(app: HasSettings) -> Tool:
    @tool(guests=True, origins=())
    async def skill_view(at: Workspace, name: str, file: str = "") -> ToolResult:
        """Shows a skill's instructions, or a file that belongs to it.

        name: the skill's name
        file: a file in the skill's folder, such as references/style.md
        """
        skill = next((one for one in await _read_skills(app) if isinstance(one, Skill) and one.name == name), None)
        if skill is None:
            raise NotFound(f'There is no skill "{name[:80]}".', hint="skills_list shows their names.")
        folder = Path(os.path.realpath(Path(skill.path).parent))
        if not file:
            text = f"# {skill.name}\n{skill.description}\n\n{skill.body}"
            if files := await asyncio.to_thread(_list_files, folder):
                text += "\n\nFiles of this skill:\n" + "\n".join(f"- {one}" for one in files)
            return ToolResult(text=text, facts={"path": skill.path})
        real = Path(os.path.realpath(folder / file))
        if folder not in real.parents:
            raise BadInput(f"{file[:200]} is not in the skill's folder.", hint="Leave `file` out to see what is.")
        place = ResolvedPath(real, folder, True)
        try:
            opened = open_file(place)
        except FileNotFoundError as error:
            raise NotFound(f"{name} has no file {file}.", hint="Leave `file` out to see what is there.") from error
        return await asyncio.to_thread(read_window, opened, place, 1, 5000, at.most)

    return skill_view


async def _read_skills(app: HasSettings) -> list[Skill | SkillProblem]:
    return await asyncio.to_thread(read_skills, skill_folders(app.settings))


def _list_files(folder: Path) -> list[str]:
    found = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    named = [str(path) for path in found if path.name != "SKILL.md" and not str(path).startswith(".")]
    return named[:MAX_LISTED_FILES]
