"""The templates page: suggestions are found, approved, previewed and deleted."""

import pytest

from tests.browser.conftest import open_site
from tests.browser.sample_sessions import create_sessions
from tests.e2e.http_server import Serving


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = tmp_path_factory.mktemp("templates") / ".sojourn"
    create_sessions(home, 40, calls=5)
    with Serving(home, SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as made:
        yield made


@pytest.fixture
def history(chromium, server):
    yield from open_site(chromium, server)


def test_a_suggestion_is_found_approved_previewed_and_deleted(history):
    page = history.open("/templates")
    page.get_by_text("No templates yet.").wait_for()
    page.get_by_role("button", name="Find suggestions").click()
    page.get_by_role("heading", name="Suggestions").wait_for(timeout=60_000)
    [first, *_] = history.server.client.get("/api/plugins/templates/suggestions").json()["suggestions"]
    links = page.locator(".evidence").first.get_by_role("link").evaluate_all("(all) => all.map((one) => one.pathname)")
    assert links == [f"/chat/{one['session']}" for one in first["evidence"]]
    page.get_by_role("button", name="Approve").first.click()
    page.get_by_role("button", name="Preview what is sent").wait_for()
    page.get_by_text("used 0 times").wait_for()
    page.get_by_role("button", name="Preview what is sent").click()
    dialog = page.get_by_role("dialog")
    assert len(dialog.locator("pre").inner_text()) > 20
    assert "tokens" in dialog.inner_text()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    kept = history.server.client.get("/api/plugins/templates/templates").json()["templates"]
    assert len(kept) == 1
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("dialog").get_by_label("Name").fill("read-then-run")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="read-then-run").wait_for()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    page.get_by_role("heading", name="read-then-run").wait_for()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_text("No templates yet.").wait_for()
    assert history.server.client.get("/api/plugins/templates/templates").json()["templates"] == []
