"""One question, two models: two branches beside each other, one of which is chosen to go on with."""

import json

import pytest

from sojourn.testing.model_script import Say
from sojourn.testing.model_server import ModelServer
from tests.browser.conftest import open_site, send_message, start_server


@pytest.fixture(scope="module")
def model():
    with ModelServer(models=("scripted-1", "scripted-2")) as server:
        yield server


@pytest.fixture(scope="module")
def two_models(model):
    env = {"SOJOURN_RUNTIME": "native", "SOJOURN_MODEL_BASE_URL": model.url, "SOJOURN_MODEL": "scripted-1"}
    with start_server(SOJOURN_TITLES="no", **env) as server:
        yield server


@pytest.fixture
def talk(chromium, two_models):
    yield from open_site(chromium, two_models)


def ask_both(page, first="scripted-1", second="scripted-2"):
    dialog = page.get_by_role("dialog", name="Ask two models")
    dialog.get_by_label("First model").select_option(label=first)
    dialog.get_by_label("Second model").select_option(label=second)
    dialog.get_by_role("button", name="Ask both").click()
    page.wait_for_url("**/chat/*?beside=*")


def test_an_answered_question_is_put_to_two_models(talk, model, find_violations):
    model.play([Say("First answer.")], [Say("An oak.")], [Say("A beech.")], [Say("It grows slowly.")])
    page = talk.open("/chat/new")
    send_message(page, "name a tree")
    page.get_by_text("First answer.").wait_for()
    origin = page.url.rpartition("/")[2]
    page.locator(".turn-footer").get_by_role("button", name="Ask two models").click()
    ask_both(page)
    panes = page.get_by_role("region", name="Two answers").get_by_role("region")
    page.get_by_text("An oak.").wait_for()
    page.get_by_text("A beech.").wait_for()
    assert panes.locator(".bubble", has_text="name a tree").count() == 2
    assert sorted(request.body["model"] for request in model.asked[-2:]) == ["scripted-1", "scripted-2"]
    left, right = (pane.bounding_box() for pane in panes.all())
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    assert find_violations(page) == []
    kept = panes.filter(has_text="A beech.")
    kept.get_by_role("button", name="Continue with this one").click()
    page.get_by_label("Write a message").wait_for()
    assert page.get_by_text("An oak.").count() == 0
    send_message(page, "and how does it grow?")
    page.get_by_text("It grows slowly.").wait_for()
    chosen = talk.server.client.get(f"/api/sessions/{page.url.rpartition('/')[2]}").json()
    assert origin in json.dumps(chosen["branched_from"])
    assert "First answer." in talk.server.client.get(f"/api/sessions/{origin}/messages").text


def test_a_new_question_goes_to_two_models_on_a_phone(talk, model, find_violations):
    model.play([Say("Blue.")], [Say("Red.")])
    page = talk.open("/chat/new", viewport={"width": 390, "height": 844})
    page.get_by_label("Write a message").fill("name a colour")
    page.get_by_role("button", name="Ask two models").click()
    ask_both(page)
    page.get_by_text("Blue.").wait_for()
    page.get_by_text("Red.").wait_for()
    panes = page.get_by_role("region", name="Two answers").get_by_role("region")
    top, bottom = (pane.bounding_box() for pane in panes.all())
    assert top["y"] + top["height"] <= bottom["y"]
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert find_violations(page) == []
