"""Fuzzing against the real shell: random compositions are run confined. `make soak` runs many.

The world outside must stay as it is. Of a line that the parser called clear, every command that ran must be one that
the parser saw.
"""

from __future__ import annotations

import random
import shlex
from collections.abc import Iterator

import pytest

from sojourn.text.shell import Script, parse_script
from sojourn.tools.danger.rules import is_unclear
from sojourn.tools.danger.wrappers import list_started_commands
from tests.security.attack_lines import attack_lines, changes_metadata, encode
from tests.security.outside import policy_for, run, support_of

GLUE = ["{a}; {b}", "{a} && {b}", "{a} || {b}", "{a} | {b}", "{a} & {b}", "({a}); {b}", "{{ {a}; }}; {b}", "! {a}\n{b}"]
WRAPPERS = [
    "{a}",
    "eval {q}",
    "bash -c {q}",
    "sh -c {q}",
    "env bash -c {q}",
    "( {a} )",
    "if true; then {a}; fi",
    "for i in 1 2; do {a}; done",
    "f() {{ {a}; }}; f",
    "x=$( {a} )",
    "echo `true; {a}`",
    "cat <( {a} ) </dev/null",
    "while :; do {a}; break; done",
    "case x in x) {a};; esac",
    "trap {q} EXIT",
    "bash <<'END_OF_IT'\n{a}\nEND_OF_IT\n",
    "cat <<END_OF_IT\n$( {a} )\nEND_OF_IT\n",
    "[[ -n $( {a} ) ]]",
    "X=1 bash -c {q}",
    "set -e; {a}",
    "timeout 2 bash -c {q}",
    "find . -maxdepth 0 -exec bash -c {q} ';'",
    "echo y | xargs -I@ bash -c {q}",
    "coproc {{ {a}; }}; wait",
    "echo $(( 1 + $( {a} | wc -l ) ))",
    "! {a}",
    "echo hello # {a}",
    "echo {q}",
]
STUBS = [f"stub{number}" for number in range(8)]


def compose(rng: random.Random, leaves: list[str], depth: int) -> str:
    """A random command line made of the leaves."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(leaves)
    inner = compose(rng, leaves, depth - 1)
    if rng.random() < 0.4:
        return rng.choice(GLUE).format(a=inner, b=compose(rng, leaves, depth - 1))
    return rng.choice(WRAPPERS).format(a=inner, q=shlex.quote(inner))


def disguise(rng: random.Random, name: str) -> str:
    """A spelling of a program's name that a shell reads as the name, or that nothing but the shell can read."""
    middle = rng.randrange(1, len(name))
    head, tail = name[:middle], name[middle:]
    return rng.choice(
        [
            name,
            f"{head}'{tail}'",
            f'"{head}"{tail}',
            f"{head}\\{tail}",
            f"'{name}'",
            f"{head}''{tail}",
            f"{head}\\\n{tail}",
            f"n={name}; $n",
            f"n={tail}; {head}$n",
            f"{head}${{n-{tail}}}",
            f"$(echo {name})",
            f"{{{name},x}}",
            f"$'{name}'",
            f"$'\\x{ord(head[0]):02x}{name[1:]}'",
            f"X=1 Y=2 {name}",
            f">/dev/null {name}",
            f"{name} a b >/dev/null 2>&1",
            f"{name} 'a;b' \"c|d\" e#f",
            f"command {name}",
            f"exec {name}",
            f"nohup {name} 2>/dev/null",
            f"{head}$@{tail}",
            f"{head}${{IFS:0:0}}{tail}",
            f"time {name}",
            f"{name} < /dev/null",
        ]
    )


def seen_names(script: Script, depth: int = 0) -> Iterator[str]:
    """The names of all programs that the parser sees, those of wrappers included."""
    for command in script.commands if depth < 20 else ():
        if command.words:
            yield command.words[0].rpartition("/")[2]
        for one in list_started_commands(command):
            yield from seen_names(parse_script(one) if isinstance(one, str) else Script([one]), depth + 1)


@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("rounds", [15, pytest.param(1500, marks=pytest.mark.soak)])
async def test_no_composition_has_an_effect_outside(mechanism, rounds, outside, folder):
    support, policy, seed = support_of(mechanism), policy_for(outside, folder), random.randrange(1 << 30)
    rng = random.Random(seed)
    leaves = []
    for template in attack_lines():
        if "sleep 60" in template or (mechanism == "landlock" and changes_metadata(template)):
            continue
        line = template.removeprefix("ENCODED ").format(**outside.names)
        leaves.append(encode(line) if template.startswith("ENCODED") else line)
    for _ in range(rounds):
        line = compose(rng, leaves, 3)
        text, left = await run(line, policy, support, seconds=3.0)
        text = text.replace("OPENED", "")  # a line that is only printed has this word too
        faults = outside.find_faults(line, text, left)
        assert not faults, f"seed {seed}: {faults}"


@pytest.mark.parametrize("rounds", [60, pytest.param(2000, marks=pytest.mark.soak)])
async def test_the_parser_sees_every_command_that_runs_of_a_clear_line(rounds, outside, folder):
    support, policy, seed = support_of("landlock"), policy_for(outside, folder), random.randrange(1 << 30)
    rng = random.Random(seed)
    workspace = policy.write[0]
    programs, log = workspace / "bin", workspace / "log"
    programs.mkdir()
    for name in STUBS:
        (programs / name).write_text(f"#!/bin/sh\necho {name} >> {log}\n")
        (programs / name).chmod(0o755)
    checked = 0
    for _ in range(rounds):
        line = compose(rng, [disguise(rng, rng.choice(STUBS)) for _ in range(3)], 3)
        if is_unclear(line):
            continue
        checked += 1
        log.write_text("")
        await run(f"export PATH={programs}:$PATH\n{line}", policy, support, seconds=5.0)
        ran = set(log.read_text().split())
        assert ran <= set(seen_names(parse_script(line))), f"seed {seed}: {line!r} ran {ran}"
    assert checked >= rounds // 10, f"seed {seed}: hardly any line was clear"
