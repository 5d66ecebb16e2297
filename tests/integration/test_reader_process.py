"""Foreign histories are read and redacted by another process."""

import json
from pathlib import Path

import pytest

from sojourn.importers.claude_code.importer import ClaudeCodeImporter
from sojourn.importers.reader_process import confine_importer
from sojourn.text.redaction import Redacted

SECRET = "ghp_" + "a1B2" * 10


@pytest.mark.parametrize("is_redacted", [True, False])
def test_what_comes_back_is_redacted_if_the_settings_say_so(tmp_path: Path, is_redacted: bool):
    record = {
        "type": "user",
        "sessionId": "s1",
        "uuid": "u1",
        "timestamp": "2026-01-02T03:04:05.000Z",
        "message": {"role": "user", "content": f"Use {SECRET} there."},
    }
    folder = tmp_path / "projects" / "-work"
    folder.mkdir(parents=True)
    (folder / "s1.jsonl").write_text(json.dumps(record) + "\n")
    with confine_importer(ClaudeCodeImporter(), is_redacted=is_redacted).open(tmp_path) as reader:
        [entry] = reader.sessions()
        [message] = reader.read(entry.native_id).messages
    assert message.content == ("Use [redacted:github-token] there." if is_redacted else f"Use {SECRET} there.")
    assert isinstance(message.content, Redacted) == is_redacted
