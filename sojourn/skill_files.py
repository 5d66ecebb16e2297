"""Skill files: finds every `SKILL.md` below the skill folders and parses it.

    ---
    name: release-notes
    description: Writes release notes from the commits since the last tag.
    ---
    1. Find the last tag …

The head is a subset of YAML: `key: value`, quotes, `>` and `|` blocks, indented continuation lines. Full YAML would
reject many real files (`description: Note: …`). Unknown keys are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.settings import Settings
from sojourn.ports.libraries import Skill, SkillProblem

MAX_DEPTH = 4  # folders below a skill folder: Hermes sorts skills into categories
MAX_FILE_BYTES = 256 * 1024
MAX_SKILLS = 2000  # skills
MAX_NAME_CHARS = 64
MAX_DESCRIPTION_CHARS = 1024
_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_NAME = re.compile(r"[^\s/\\\x00-\x1f][^/\\\x00-\x1f]*")
_HINT = "It begins with ---, then `name:` and `description:`, then --- and the instructions."


def skill_folders(settings: Settings) -> list[Path]:
    """Lists the folders that hold skills: `skills` in the home, and those of the setting `skills.folders`."""
    named = [one.strip() for one in str(settings["skills.folders"]).split(",")]
    return [settings.home / "skills", *(settings.user_home / one.removeprefix("~/") for one in named if one)]


def save_own_skill(settings: Settings, name: str, description: str, body: str) -> Skill:
    """Writes `skills/<name>/SKILL.md` in the home. BadInput if a skill of another folder has the name."""
    path = _find_own_file(settings, name)
    head = "description: " + " ".join(description.split())
    text = f"---\nname: {name}\n{head}\n---\n{body.strip()}\n"
    made = parse_skill(text, str(path))
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_name(".SKILL.md.part")
    part.write_text(text, "utf-8")
    part.replace(path)
    return made


def delete_own_skill(settings: Settings, name: str) -> None:
    """Deletes the SKILL.md of a skill in the home, and its folder if nothing else is in it. NotFound, BadInput."""
    path = _find_own_file(settings, name)
    if not path.is_file():
        raise NotFound(f'There is no skill "{name}" in {path.parent.parent}.', hint="`sojourn skills list` shows all.")
    path.unlink()
    with suppress(OSError):
        path.parent.rmdir()


def _find_own_file(settings: Settings, name: str) -> Path:
    own = settings.home / "skills"
    others = (one for one in read_skills(skill_folders(settings)) if isinstance(one, Skill) and one.name == name)
    path = next((Path(one.path) for one in others), own / name / "SKILL.md")
    real = path.parent.resolve()
    if path.is_symlink() or not real.is_relative_to(own.resolve()):
        raise BadInput(f'"{name}" is a skill of {path.parent}, which is not ours.', hint="Change it there.")
    return path


def read_skills(folders: Iterable[Path]) -> list[Skill | SkillProblem]:
    """Reads every SKILL.md below these folders, in order of their paths.

    A second skill of the same name and an unreadable folder are problems; a missing folder is not.
    """
    read: list[Skill | SkillProblem] = []
    names: dict[str, str] = {}
    for path in (path for folder in folders for path in _walk(folder, MAX_DEPTH)):
        one = path if isinstance(path, SkillProblem) else _read(path)
        if isinstance(one, Skill) and one.name in names:
            one = SkillProblem(path=one.path, why=f'"{one.name}" is already the name of {names[one.name]}.')
        if isinstance(one, Skill):
            names[one.name] = one.path
        read.append(one)
        if len(read) == MAX_SKILLS:
            read.append(
                SkillProblem(path=one.path, why=f"There are more than {MAX_SKILLS} skills; the rest was not read.")
            )
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
            raw = file.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            return SkillProblem(path=str(path), why=f"It has more than {MAX_FILE_BYTES // 1024} kB.")
        return parse_skill(raw.decode("utf-8"), str(path))
    except OSError as error:
        return SkillProblem(path=str(path), why=f"It cannot be read: {error.strerror}.")
    except UnicodeDecodeError:
        return SkillProblem(path=str(path), why="It is not UTF-8 text.")
    except BadInput as error:
        return SkillProblem(path=str(path), why=f"{error} {error.hint}")


def parse_skill(text: str, where: str = "") -> Skill:
    """Parses a SKILL.md; `where` is its path, and its folder names a skill without `name:`. BadInput."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    marks = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    if len(marks) < 2 or any(line.strip() for line in lines[: marks[0]]):
        raise BadInput(f"{where or 'This skill'} has no head between two lines of ---.", hint=_HINT)
    head = _parse_head(lines[marks[0] + 1 : marks[1]])
    name = head.get("name", "") or _folder_name(where)
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARS:
        raise BadInput(
            f"{where or 'This skill'} has no usable name: {name[:80]!r}.",
            hint=f"`name:` has up to {MAX_NAME_CHARS} characters and no slash.",
        )
    description = " ".join(head.get("description", "").split())
    if not description:
        raise BadInput(f"{where or name} has no description.", hint="Say in `description:` when the skill is of use.")
    return Skill(
        name=name,
        description=description[:MAX_DESCRIPTION_CHARS],
        body="\n".join(lines[marks[1] + 1 :]).strip(),
        path=where,
    )


def _folder_name(where: str) -> str:
    steps = where.replace("\\", "/").split("/")
    return steps[-2] if len(steps) > 1 else ""


def _parse_head(lines: list[str]) -> Mapping[str, str]:
    """Maps each key at the left edge to its value, which may go on in indented lines."""
    values: dict[str, str] = {}
    at = 0
    while at < len(lines):
        hit = _KEY.match(lines[at].rstrip())
        at += 1
        if hit is None:
            continue
        more: list[str] = []
        while at < len(lines) and (not lines[at].strip() or lines[at][0] in " \t"):
            more.append(lines[at])
            at += 1
        values.setdefault(hit[1].lower(), _parse_value((hit[2] or "").strip(), more))
    return values


def _parse_value(first: str, more: list[str]) -> str:
    if re.fullmatch(r"[>|][+-]?\d?", first):
        inner = [line.strip() for line in more]
        return (" " if first[0] == ">" else "\n").join(inner).strip()
    whole = " ".join([first, *(line.strip() for line in more)]).strip()
    if len(whole) > 1 and whole[0] == whole[-1] == "'":
        return whole[1:-1].replace("''", "'")
    if len(whole) > 1 and whole[0] == whole[-1] == '"':
        try:
            return str(json.loads(whole))
        except ValueError:
            return whole[1:-1]
    return re.split(r"\s#", whole)[0].strip()
