"""What the shell parser cannot resolve is called unclear in the question, never harmless."""

from __future__ import annotations

import pytest

from tests.integration.tools.tool_workspace import call, open_kit, room_in

UNCLEAR = [
    'cat "$FILE"',
    "cat $(head -1 names)",
    'eval "$(base64 -d <<< cm0gLXJmIH4=)"',
    "$CMD x",
    "echo x > $TARGET",
    "x=$(cat f); ls $x",
    "ls `cat names`",
    "for n in $(cat names); do touch $n; done",
    "xargs touch < $LIST",
    'bash -c "$SCRIPT"',
    "cat ${FILE:-x}${Y}",
    "if then fi",
    "echo 'unfinished",
    "cat <(echo $X)",
    "declare -n r=$N; r=1",
    "ls ${!X}",
    "coproc { touch x; }; wait",
]
CLEAR = [
    "ls -la",
    "git status",
    "F=a.txt; cat $F",
    "echo hello > out.txt",
    "cat *.py | wc -l",
    "cd src && make",
    "for n in 1 2; do ls; done",
]


async def ask(kit, tmp_path, command: str) -> str:
    room = await room_in(kit, tmp_path)
    room.answers = ["deny"]
    await call(kit, room, "terminal", command=command)
    return room.asked[-1].text


@pytest.mark.parametrize("command", UNCLEAR)
async def test_what_cannot_be_resolved_is_called_unclear(command, tmp_path):
    async with open_kit() as kit:
        assert "clear" in await ask(kit, tmp_path, command)


@pytest.mark.parametrize("command", CLEAR)
async def test_what_can_be_resolved_is_not(command, tmp_path):
    async with open_kit() as kit:
        text = await ask(kit, tmp_path, command)
        assert "clear" not in text
        assert "harmless" not in text
