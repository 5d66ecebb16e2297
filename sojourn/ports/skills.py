"""Where skills are kept, and reading them. Beside the interfaces because two leaves need it: tools and context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from sojourn.core.errors import BadInput
from sojourn.core.settings import Settings
from sojourn.core.skills import Skill, SkillProblem, parse_skill

DEPTH = 4  # folders below the one that was given: Hermes sorts skills into categories
LARGEST = 256 * 1024  # bytes of one SKILL.md
MOST = 2000  # skills in all


def skill_folders(settings: Settings) -> list[Path]:
    """The folders that hold skills: `skills` in the home, and those of the setting `skills.folders`."""
    named = [one.strip() for one in str(settings["skills.folders"]).split(",")]
    return [settings.home / "skills", *(settings.user_home / one.removeprefix("~/") for one in named if one)]


def read_skills(folders: Iterable[Path]) -> list[Skill | SkillProblem]:
    """Every SKILL.md below these folders, in order of their paths. Of two skills with one name the first is
    taken and the second is a problem. A folder that is not there holds none; one that cannot be read is a problem.
    """
    read: list[Skill | SkillProblem] = []
    names: dict[str, str] = {}
    for path in (path for folder in folders for path in _walk(folder, DEPTH)):
        one = path if isinstance(path, SkillProblem) else _read(path)
        if isinstance(one, Skill) and one.name in names:
            one = SkillProblem(path=one.path, why=f'"{one.name}" is already the name of {names[one.name]}.')
        if isinstance(one, Skill):
            names[one.name] = one.path
        read.append(one)
        if len(read) == MOST:
            read.append(SkillProblem(path=one.path, why=f"There are more than {MOST} skills; the rest was not read."))
            break
    return read


def _walk(folder: Path, depth: int) -> Iterator[Path | SkillProblem]:
    try:
        inside = sorted(folder.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        yield SkillProblem(path=str(folder), why=f"The folder cannot be read: {error.strerror}.")
        return
    if folder / "SKILL.md" in inside:
        yield folder / "SKILL.md"
        return  # what is below belongs to that skill
    for path in inside if depth else ():
        if not path.name.startswith(".") and path.is_dir():
            yield from _walk(path, depth - 1)


def _read(path: Path) -> Skill | SkillProblem:
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            return SkillProblem(path=str(path), why=f"It has more than {LARGEST // 1024} kB.")
        return parse_skill(raw.decode("utf-8"), str(path))
    except OSError as error:
        return SkillProblem(path=str(path), why=f"It cannot be read: {error.strerror}.")
    except UnicodeDecodeError:
        return SkillProblem(path=str(path), why="It is not UTF-8 text.")
    except BadInput as error:
        return SkillProblem(path=str(path), why=f"{error} {error.hint}")
