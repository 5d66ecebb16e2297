"""A question of an agent that somebody else started: the browser shows all of it, and a button answers."""

import pytest

from tests.e2e.hook_steps import ASKED, list_waiting, read_decision, send, start_hook, until


@pytest.mark.parametrize(("button", "behavior"), [("Allow once", "allow"), ("Deny", "deny")])
def test_a_question_of_an_agent_is_answered_in_the_browser(site, button, behavior):
    hook = start_hook(site.server.home)
    send(hook, ASKED)
    [session] = until(lambda: list_waiting(site.server))
    page = site.open(f"/chat/{session['id']}")
    page.get_by_text("Claude Code wants to use Bash in /.").first.wait_for()
    page.get_by_text("make clean").first.wait_for()
    page.get_by_text("Claude Code asks for a permission.").first.wait_for()
    page.get_by_role("button", name=button, exact=False).first.click()
    assert read_decision(hook)["behavior"] == behavior
    said = "Bash: allowed once" if behavior == "allow" else "Bash: refused"
    page.get_by_text(said, exact=False).first.wait_for()
