"""A question of Hermes: exactly the command, outside our sandbox, never for longer than once."""

from sojourn.runtimes.hermes.approvals import _to_question


def test_the_command_is_exact_and_allowed_once_at_most() -> None:
    event = {"command": "ls \x1b[8m; rm x", "description": "looks\x1b[0m odd", "choices": ["once", "session", "always"]}
    asked = _to_question(event, "r-1")
    assert asked.detail == "ls \x1b[8m; rm x"
    assert asked.choices == ("once", "deny")
    assert (asked.scope, asked.dangerous) == ("outside", True)
    assert "looks odd" in asked.text
