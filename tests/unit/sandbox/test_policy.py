"""What a policy grants, and how hidden places are left out."""

from pathlib import Path

from sojourn.sandbox.macos import build_profile
from sojourn.sandbox.policy import build_policy, confined_environment, find_inside, split_around


def policy(tmp_path, workspace, **more):
    return build_policy(
        workspace, tmp_path / "temporary", sojourn_home=tmp_path / ".sojourn", user_home=tmp_path, **more
    )


def test_the_workspace_and_the_temporary_folder_can_be_written_and_nothing_else(tmp_path):
    found = policy(tmp_path, tmp_path / "project")
    assert found.write == (tmp_path / "project", tmp_path / "temporary")
    assert Path("/usr") in found.read
    assert not any(one == Path("/etc") or one.name == "shadow" for one in found.read)
    assert not found.network


def test_homes_and_keys_are_hidden_even_where_the_workspace_contains_them(tmp_path):
    found = policy(tmp_path, tmp_path)
    assert {tmp_path / ".sojourn", tmp_path / ".ssh", tmp_path / ".aws"} <= set(found.hidden)
    assert {tmp_path / ".claude.json", tmp_path / ".vault-token", tmp_path / ".var/app"} <= set(found.hidden)
    assert Path("/etc/ssl/private") in found.hidden


def test_a_workspace_inside_our_home_can_be_used(tmp_path):
    found = policy(tmp_path, tmp_path / ".sojourn" / "workspace")
    assert tmp_path / ".sojourn" not in found.hidden
    assert tmp_path / ".sojourn" not in (*found.read, *found.write)


def test_a_folder_is_split_around_what_is_hidden(tmp_path):
    for name in ("a/b/secret/key", "a/b/open", "a/c", "d"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    hidden = (tmp_path / "a/b/secret",)
    assert list(split_around(tmp_path, hidden)) == [tmp_path / "a/b/open", tmp_path / "a/c", tmp_path / "d"]
    assert list(split_around(tmp_path / "d", hidden)) == [tmp_path / "d"]
    assert list(split_around(tmp_path / "a/b/secret", hidden)) == []


def test_places_inside_folders_are_found():
    places = [Path("/a"), Path("/a/b/c"), Path("/ab"), Path("/d/e")]
    assert find_inside(places, [Path("/a"), Path("/d/e/f")]) == (Path("/a"), Path("/a/b/c"))


def test_the_environment_leads_tools_to_the_temporary_folder(tmp_path):
    found = confined_environment({"PATH": "/bin", "TMPDIR": "/tmp"}, tmp_path)
    assert found["PATH"] == "/bin"
    assert found["TMPDIR"] == str(tmp_path)
    assert found["GIT_CONFIG_GLOBAL"].startswith(str(tmp_path))


def test_the_profile_for_macos_denies_by_default_and_hides_last(tmp_path):
    profile = build_profile(policy(tmp_path, tmp_path / 'a "quoted" one'))
    lines = profile.splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert f'(subpath "{tmp_path}/a \\"quoted\\" one")' in profile
    assert "(allow network" not in profile
    assert lines[-1].startswith("(deny file-read* file-write*")
    assert f'(subpath "{tmp_path}/.ssh")' in lines[-1]
    assert "(allow network-outbound" in build_profile(policy(tmp_path, tmp_path / "p", network=True))
