"""Generates the messages that both stores receive: seeded, mixed, in the shapes of real agent sessions."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

_WORDS = (
    "about after again answer because before branch build change check clean close column compare complete "
    "connect contain continue current data default delete depend design directory display element enable "
    "entry example execute expect explain export feature field filter final follow format function generate "
    "handle header import improve include index input insert instance interface item iterate keyword label "
    "language layer layout length library limit list load local lock loop main manage mark match member merge "
    "message method module move multiple name nested node normal object offset option order output package "
    "parameter parent parse path pattern point position prefix print process project property query queue "
    "range read reason record reduce region remove render repeat replace report request require resolve result "
    "return review root route rule sample schema scope screen script section select sequence service several "
    "shape source special stack stage state static step store stream string structure support switch symbol "
    "table target task template thread title token total track transform tree update value variable vector "
    "verify version view window worker write"
)
WORDS = _WORDS.split()
CHINESE = "错误信息需要检查测试数据库连接超时请重新启动服务器然后查看日志文件确认配置是否正确如果问题仍然存在联系管理员"
COMMON, CHINESE_WORD, RARE = "result", "错误", "zanzibar"

Row = tuple[str, str | None, str | None, str | None, str | None]  # role, content, tool_calls, tool_call_id, tool_name


def messages(session: int, count: int, size: int) -> Iterator[Row]:
    """The rows of one session: questions, answers with tool calls, tool output, some Chinese."""
    chance = random.Random(session)
    for number in range(count):
        kind = number % 4
        if kind == 0:
            yield "user", _text(chance, size // 3, chinese=number % 20 == 0), None, None, None
        elif kind == 1:
            arguments = json.dumps({"command": _text(chance, 60), "path": f"src/{chance.choice(WORDS)}_{number}.py"})
            call = {"id": f"c{number}", "type": "function", "function": {"name": "terminal", "arguments": arguments}}
            yield "assistant", _text(chance, size // 4), json.dumps([call]), None, None
        elif kind == 2:
            output = {"output": _output(chance, size * 2), "exit_code": chance.choice((0, 0, 0, 1))}
            yield "tool", json.dumps(output), None, f"c{number - 1}", "terminal"
        else:
            rare = f" {RARE}" if session == 7 and number < 8 else ""
            yield "assistant", _text(chance, size, chinese=number % 20 == 3) + rare, None, None, None


def _text(chance: random.Random, size: int, *, chinese: bool = False) -> str:
    words = [chance.choice(WORDS) for _ in range(max(3, size // 7))]
    if chinese:
        start = chance.randrange(0, 30)
        words.insert(len(words) // 2, CHINESE[start : start + 24])
    return " ".join(words)


def _output(chance: random.Random, size: int) -> str:
    """Something a program prints: paths, numbers, hashes, log lines."""
    lines, made = [], 0
    while made < size:
        line = (
            f"{chance.randrange(24):02}:{chance.randrange(60):02} {chance.choice(WORDS)}.{chance.choice(WORDS)} "
            f"/srv/app/{chance.choice(WORDS)}/{chance.choice(WORDS)}_{chance.randrange(900)}.py:"
            f"{chance.randrange(999)} {chance.getrandbits(40):010x} {chance.choice(WORDS)}_{chance.choice(WORDS)}"
        )
        lines.append(line)
        made += len(line)
    return "\n".join(lines)


def text_bytes(row: Row) -> int:
    return sum(len(part.encode()) for part in (row[1], row[2], row[4]) if part)
