"""`make drift`: the newest versions of programs whose histories we import, and whether those still look as recorded.

Each newest version is fetched, has a scripted session, and is imported. The schema of what it wrote is compared with
the recorded one, and the table in docs/reference/histories.md gets a line. `ARGS=--record` records the schemas.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn.testing.model_script import Call, Say
from sojourn.testing.model_server import ModelServer
from tests.witnesses.agent_programs import HERE, ROOT, AgentPrograms, install_packages
from tests.witnesses.history_schema import Schema, compare_schemas, read_schema

SCHEMAS = HERE / "schemas"
PAGE = ROOT / "docs" / "reference" / "histories.md"
BEGIN, END = "<!-- drift: written by `make drift` -->", "<!-- drift ends -->"
PROMPT, ANSWER = "What do the notes say?", "They say: buy milk."


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedProgram:
    """A program: its package, the files of its history, and how its model reads a file."""

    package: str
    source: str
    files: tuple[str, ...]
    call: Call


def _build_call(tool: str, **arguments: Any) -> Call:
    return Call(tool, arguments)


PROGRAMS = {
    "claude": WatchedProgram(
        package="@anthropic-ai/claude-code",
        source="claude-code",
        files=(".claude/projects/*/*.jsonl",),
        call=_build_call("Read", file_path="PROJECT/notes.txt"),
    ),
    "codex": WatchedProgram(
        package="@openai/codex",
        source="codex",
        files=(".codex/sessions/*/*/*/*.jsonl",),
        call=_build_call("exec_command", cmd="cat notes.txt"),
    ),
    "gemini": WatchedProgram(
        package="@google/gemini-cli",
        source="gemini",
        files=(".gemini/tmp/*/chats/*.json*",),
        call=_build_call("read_file", file_path="PROJECT/notes.txt"),
    ),
    "opencode": WatchedProgram(
        package="opencode-ai",
        source="opencode",
        files=(".local/share/opencode/opencode.db",),
        call=_build_call("read", filePath="PROJECT/notes.txt"),
    ),
    "qwen": WatchedProgram(
        package="@qwen-code/qwen-code",
        source="qwen",
        files=(".qwen/projects/*/chats/*.jsonl",),
        call=_build_call("read_file", file_path="PROJECT/notes.txt"),
    ),
    "pi": WatchedProgram(
        package="@earendil-works/pi-coding-agent",
        source="pi",
        files=(".pi/agent/sessions/*/*.jsonl",),
        call=_build_call("read", path="PROJECT/notes.txt"),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRow:
    """What was found about one program."""

    name: str
    version: str
    differences: tuple[str, ...]
    imported: str
    is_complete: bool

    def render(self, day: str) -> str:
        schema = f"{len(self.differences)} differences" if self.differences else "as recorded"
        return f"| {self.name} | {self.version} | {day} | {schema} | {self.imported} |"


def look_at(name: str, packages: Path, *, record: bool = False) -> DriftRow:
    """Runs a session of a program, and compares and imports what it wrote."""
    program = PROGRAMS[name]
    with tempfile.TemporaryDirectory(prefix=f"drift-{name}-") as folder:
        schema, imported, is_complete = _run_session(name, program, Path(folder), packages)
    recorded = SCHEMAS / f"{name}.json"
    if record:
        SCHEMAS.mkdir(exist_ok=True)
        recorded.write_text(json.dumps(schema, indent=0) + "\n")
    differences = compare_schemas(json.loads(recorded.read_text()), schema)
    version = json.loads((packages / "node_modules" / program.package / "package.json").read_text())["version"]
    return DriftRow(
        name=name, version=version, differences=tuple(differences), imported=imported, is_complete=is_complete
    )


def _run_session(name: str, program: WatchedProgram, folder: Path, packages: Path) -> tuple[Schema, str, bool]:
    call = Call(program.call.name, json.loads(program.call.as_text.replace("PROJECT", str(folder / "project"))))
    with ModelServer([Say(ANSWER)], aside=[Say("A title")]) as model:
        person = AgentPrograms(folder, model, packages)
        person.set_up(name)
        asked = list[bool]()

        def answer(request: Any) -> list[Any]:
            """The call once, in the first request that has tools."""
            if not request.tools or asked:
                return [Say(ANSWER)]
            asked.append(True)
            return [call]

        model.play(answer)
        person.begin(name, PROMPT)
    files = [path for pattern in program.files for path in sorted(folder.glob(pattern))]
    assert files, f"{name} wrote nothing where its history was"
    return read_schema(files), *_import(person, program.source)


def _import(person: AgentPrograms, source: str) -> tuple[str, bool]:
    """What of the session came in."""
    [report] = json.loads(person.sojourn("import", source, "--yes", "--json"))
    [session] = json.loads(person.sojourn("sessions", "list", "--json"))
    messages = json.loads(person.sojourn("sessions", "export", session["id"], "--format", "jsonl"))["messages"]
    texts = [str(one.get("content")) for one in messages]
    found = {
        "prompt": any(PROMPT in text for one, text in zip(messages, texts, strict=True) if one["role"] == "user"),
        "call": any(one.get("tool_calls") for one in messages),
        "result": any("Buy milk." in text for one, text in zip(messages, texts, strict=True) if one["role"] == "tool"),
        "answer": any(ANSWER in text for text in texts),
        "tokens": bool(session["output_tokens"]),
    }
    missing = [what for what, is_there in found.items() if not is_there]
    notes = [*report["notes"], *(why for _, why in report["skipped"])]
    words = f"without {', '.join(missing)}" if missing else "prompt, call, result, answer, tokens"
    return words + (f"; {len(notes)} notes" if notes else ""), not missing


def write_table(rows: list[DriftRow], day: str) -> None:
    """Replaces the lines of these programs in the page; the others stay."""
    before = PAGE.read_text()
    head, _, rest = before.partition(BEGIN)
    old, _, tail = rest.partition(END)
    lines = {line.split("|")[1].strip(): line for line in old.splitlines() if re.match(r"\| [a-z]", line)}
    lines.pop("program", None)
    lines |= {row.name: row.render(day) for row in rows}
    title = "| program | newest version | looked at | schema | imported |\n|---|---|---|---|---|\n"
    table = title + "".join(f"{line}\n" for line in lines.values())
    PAGE.write_text(f"{head}{BEGIN}\n\n{table}\n{END}{tail}")


def fetch_newest(name: str, folder: Path) -> None:
    """Installs the newest version of a program. CalledProcessError if the registry cannot give it."""
    pinned = json.loads((HERE / "package.json").read_text())
    kept = {one: version for one, version in pinned["dependencies"].items() if one.startswith("node-")}
    folder.mkdir(parents=True)
    wanted = {**pinned, "dependencies": {**kept, PROGRAMS[name].package: "latest"}}
    (folder / "package.json").write_text(json.dumps(wanted))
    install_packages(folder)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make drift")
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--record", action="store_true", help="record the schemas as they are now")
    given = parser.parse_args(arguments)
    day, rows = datetime.now(UTC).date().isoformat(), list[DriftRow]()
    with tempfile.TemporaryDirectory(prefix="drift-") as folder:
        for name in given.programs:
            packages = Path(folder) / name
            try:
                fetch_newest(name, packages)
            except subprocess.CalledProcessError:
                print(f"{name}: its newest version cannot be fetched; the pinned one instead", flush=True)
                packages = HERE
            rows.append(look_at(name, packages, record=given.record))
            print(rows[-1].render(day), *rows[-1].differences, sep="\n", flush=True)
    write_table(rows, day)
    return int(any(row.differences or not row.is_complete for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
