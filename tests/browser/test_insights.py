"""The insights page: totals, charts, heat map and tool success rates."""

import pytest

from sojourn.core.messages import Message, ToolCall, assistant, tool_result, user
from tests.browser.conftest import open_site
from tests.browser.sample_sessions import create_session, create_sessions
from tests.e2e.http_server import Serving

INSIGHTS_API = "/api/plugins/dashboard/insights"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = tmp_path_factory.mktemp("insights") / ".sojourn"
    create_sessions(home, 40, calls=5)
    with Serving(home, SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as made:
        yield made


@pytest.fixture
def history(chromium, server):
    yield from open_site(chromium, server)


def test_insights_show_the_insights_of_the_store_and_draw_them(history):
    page = history.open("/insights")
    page.get_by_label("Time range").select_option("3660")
    page.locator(".stat-tiles dd").first.wait_for()
    insights = history.server.client.get(f"{INSIGHTS_API}?days=3660").json()
    totals = insights["totals"]
    page.wait_for_function("() => document.querySelectorAll('.u-over').length === 2")  # both charts are there
    shown = [one.split("\n")[0] for one in page.locator(".stat-tiles dd").all_inner_texts()]
    assert shown[:2] == [f"{totals['sessions']:,}", f"{totals['messages']:,}"]
    assert shown[3] == f"${totals['cost_usd']:.2f}"
    assert "known for 20 of 40 sessions" in page.locator(".stat-tiles").inner_text()
    painted = "(one) => one.getContext('2d').getImageData(0, 0, one.width, one.height).data.some((n) => n > 0)"
    assert [one.evaluate(painted) for one in page.locator(".chart canvas").all()] == [True, True]
    assert page.locator(".heatmap rect[data-level='1'], .heatmap rect[data-level='4']").count() > 0
    rates = page.get_by_role("region", name="Tool success rates").locator("tr", has_text="terminal").inner_text()
    assert "%" in rates
    page.get_by_role("table").last.get_by_role("link").first.click()
    page.wait_for_url("**/chat/copy-*")


def test_each_session_has_an_outcome_that_leads_to_it(history):
    page = history.open("/insights")
    outcomes = page.get_by_role("region", name="Session outcomes")
    rows = outcomes.locator("tr")
    rows.first.wait_for()
    told = history.server.client.get("/api/plugins/dashboard/tools").json()["outcomes"]
    assert len(told) == 40
    succeeded = sum(one["outcome"] == "worked" for one in told)
    assert f"{succeeded} of 40 recent sessions" in outcomes.inner_text()
    assert rows.count() == 8
    outcomes.get_by_role("button", name="Show more").click()
    page.wait_for_function("() => document.querySelectorAll('tr[data-outcome]').length === 40")
    rows.first.get_by_role("link").click()
    page.wait_for_url("**/chat/copy-*")


def test_one_malformed_message_breaks_no_page(chromium, tmp_path):
    home = tmp_path / ".sojourn"
    odd = Message(role="assistant", content="Odd.", tool_calls='[null, 7, "terminal", {}]')
    session = create_session(home, {"title": "odd", "source": "cli"}, user("go"), odd)
    call = ToolCall(id="c1", name="terminal", arguments='{"command": "ls"}')
    result = tool_result(call, '{"output": "ok", "exit_code": 0}')
    create_session(home, {"title": "even", "source": "cli"}, user("go"), assistant("", [call]), result)
    with Serving(home, SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as server:
        for site in open_site(chromium, server):
            page = site.open("/insights")
            page.get_by_role("region", name="Tool success rates").get_by_text("terminal").wait_for()
            assert page.get_by_role("alert").count() == 0
            page.goto(f"{site.address}/chat/{session}")
            page.get_by_text("Odd.").wait_for()
            assert page.get_by_role("alert").count() == 0
            assert site.console_errors == []
