"""What is said to be enforced, on machines that this one is not."""

import pytest

from sojourn.sandbox import enforcement
from sojourn.sandbox.enforcement import SandboxSupport, find_support
from sojourn.sandbox.guarantees import list_guarantees


def lacking(**given):
    return [one.what for one in list_guarantees(SandboxSupport(**given)) if not one.by]


def test_bubblewrap_enforces_everything():
    assert lacking(mechanism="bubblewrap", landlock=7) == []


def test_without_a_sandbox_nothing_is_enforced():
    assert len(lacking(mechanism="none")) == len(list_guarantees(SandboxSupport(mechanism="none")))


@pytest.mark.parametrize(("version", "count"), [(7, 1), (6, 1), (5, 2), (3, 2), (2, 3)])
def test_older_versions_of_landlock_alone_enforce_less(version, count):
    assert len(lacking(mechanism="landlock", landlock=version)) == count


@pytest.mark.parametrize(
    ("version", "words"),
    [(7, []), (5, ["signals"]), (4, ["signals", "Devices"]), (2, ["signals", "Devices", "emptied", "TCP"])],
)
def test_what_a_version_lacks_is_listed(version, words, monkeypatch):
    monkeypatch.setattr(enforcement, "landlock_version", lambda: version)
    monkeypatch.setattr(enforcement, "_bubblewrap_works", lambda **_: False)
    monkeypatch.setattr(enforcement.sys, "platform", "linux")
    found = find_support.__wrapped__()
    assert found.mechanism == "landlock"
    assert not found.is_complete
    assert len(found.missing) == 1 + len(words)  # permissions and times are always among them
    assert all(any(word in sentence for sentence in found.missing) for word in words)
