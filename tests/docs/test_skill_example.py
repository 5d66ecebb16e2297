"""The skill of the user guide is found by the guide's own request."""

import re
import subprocess
from pathlib import Path

from tests.e2e.http_server import PROGRAM

GUIDE = (Path(__file__).parents[2] / "docs" / "user-guide" / "memory-and-skills.md").read_text("utf-8")


def test_the_request_of_the_guide_finds_its_skill(tmp_path: Path) -> None:
    [skill] = re.findall(r"```markdown\n(---\nname: release-notes\n.*?)```", GUIDE, re.DOTALL)
    [request] = re.findall(r'sojourn skills why "([^"]+)"', GUIDE)
    folder = tmp_path / "skills" / "release-notes"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill, "utf-8")
    command = [PROGRAM, "--home", tmp_path, "skills", "why", request]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "release-notes" in found.stdout, found.stderr
