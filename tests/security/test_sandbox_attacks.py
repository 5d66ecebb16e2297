"""Attacks on the sandbox: every line is really run, and the world outside is compared before and after."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from sojourn.sandbox.enforcement import confine
from sojourn.sandbox.policy import build_policy
from tests.security.attack_lines import SECRET, attack_lines, changes_metadata, encode
from tests.security.outside import policy_for, run, support_of

SHARES = 8  # parts of the list, so that the tests can be spread over processes


def test_there_are_enough_attacks():
    assert len(set(attack_lines())) >= 150


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
async def test_no_command_has_an_effect_outside(mechanism, share, outside, folder):
    support, policy = support_of(mechanism), policy_for(outside, folder)
    faults: list[str] = []
    for template in attack_lines()[share::SHARES]:
        if mechanism == "landlock" and changes_metadata(template):
            continue  # `find_support().missing` says so, and every command is asked about
        line = template.removeprefix("ENCODED ").format(**outside.names)
        text, left = await run(encode(line) if template.startswith("ENCODED") else line, policy, support, seconds=3.0)
        faults += outside.find_faults(line, text, left)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
async def test_ordinary_work_goes_on_inside(mechanism, outside, folder):
    support, policy = support_of(mechanism), policy_for(outside, folder)
    (policy.write[1] / "gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    line = (
        "set -e; mkdir -p src; echo 'print(6 * 7)' > src/a.py; cp -r src copy; mv copy moved; rm -r moved; ls src;"
        " git init -q .; git add -A; git commit -qm first; git log --oneline | wc -l;"
        f" {sys.executable} src/a.py; echo done > $TMPDIR/x; cat $TMPDIR/x; sort /etc/passwd | head -1"
    )
    text, _ = await run(line, policy, support)
    assert text.split()[:4] == ["a.py", "1", "42", "done"], text


async def test_a_command_with_network_reaches_it_and_still_no_unix_socket(outside, folder):
    support, policy = support_of("landlock"), policy_for(outside, folder, network=True)
    text, _ = await run(f"exec 3<>/dev/tcp/127.0.0.1/{outside.names['port']}; echo hello >&3; echo $?", policy, support)
    assert text.split() == ["0"], text
    assert len(outside.visitors()) == 1
    await run(f"curl -s -m 1 --unix-socket {outside.names['socket']} http://x/", policy, support)
    assert outside.visitors() == []


@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
async def test_secrets_inside_a_workspace_stay_hidden(mechanism, outside, folder):
    """A person may start in their home folder."""
    support, home = support_of(mechanism), outside.base / "home"
    temporary = folder / "temporary"
    temporary.mkdir()
    policy = build_policy(home, temporary, sojourn_home=home / ".sojourn", user_home=home)
    text, _ = await run(f"cat {home}/documents/notes.txt | wc -l; cat {home}/.ssh/* {home}/.sojourn/*", policy, support)
    assert text.startswith("1\n")
    assert SECRET not in text
    await run(f"rm -rf {home}/.ssh {home}/.sojourn", policy, support)
    assert (home / ".ssh/id_ed25519").read_text() == (home / ".sojourn/state.db").read_text() == f"{SECRET}\n"


@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
async def test_secrets_behind_links_stay_hidden(mechanism, folder):
    """Keys are often links into a folder of dotfiles, and people make links to their keys."""
    home, temporary = folder / "home", folder / "temporary"
    (home / "dotfiles" / "ssh").mkdir(parents=True)
    temporary.mkdir()
    (home / "dotfiles" / "ssh" / "id").write_text(SECRET)
    (home / "dotfiles" / "notes").write_text("open")
    (home / ".ssh").symlink_to(home / "dotfiles" / "ssh")
    (home / "keys").symlink_to(home / ".ssh")
    policy = build_policy(home, temporary, sojourn_home=home / ".sojourn", user_home=home)
    line = f"cat {home}/dotfiles/notes; cat {home}/.ssh/id {home}/keys/id {home}/dotfiles/ssh/id; rm -rf {home}/keys/*"
    text, _ = await run(line, policy, support_of(mechanism))
    assert text.startswith("open")
    assert SECRET not in text
    assert (home / "dotfiles" / "ssh" / "id").read_text() == SECRET


async def test_a_program_that_cannot_be_confined_is_not_started(outside, folder):
    """The launcher refuses; it never goes on without a restriction."""
    support, policy = support_of("landlock"), policy_for(outside, folder)
    argv = confine(["/bin/bash", "-c", "echo started"], policy, support)
    inside_a_filter = (
        "import sys; from sojourn.sandbox import launcher; launcher.install_filter = lambda **_: False; launcher.main()"
    )
    argv[argv.index("-c") + 1] = argv[argv.index("-c") + 1].replace(
        "from sojourn.sandbox.launcher import main; main()", inside_a_filter
    )
    child = await asyncio.create_subprocess_exec(*argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, error = await child.communicate()
    assert (child.returncode, output) == (126, b"")
    assert b"nothing was started" in error
