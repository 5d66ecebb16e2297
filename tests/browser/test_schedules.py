"""Schedules in the browser: a person adds one, changes it, pauses it and removes it."""

import pytest

from tests.browser.conftest import open_site

SCHEDULES = "/api/plugins/schedules/schedules"


@pytest.fixture
def offline_site(chromium, offline_server):
    yield from open_site(chromium, offline_server)


def test_a_schedule_is_added_changed_paused_and_removed(offline_site, find_violations):
    client = offline_site.server.client
    page = offline_site.open("/schedules")
    page.get_by_text("No schedules yet").wait_for()
    page.get_by_label("What to say").fill("Is the build green?")
    page.get_by_label("Name (optional)").fill("Build")
    page.get_by_label("When").fill("every full moon")
    page.get_by_role("button", name="Add a schedule").click()
    page.get_by_role("alert").get_by_text("every full moon").wait_for()
    assert page.get_by_label("What to say").input_value() == "Is the build green?"  # nothing typed is lost
    page.get_by_label("When").fill("every weekday 8:00")
    page.get_by_role("button", name="Add a schedule").click()
    card = page.locator("[data-schedule=Build]")
    card.get_by_text("Next run").wait_for()
    assert find_violations(page) == []
    card.get_by_role("button", name="Runs").click()
    card.get_by_text("It has not run yet.").wait_for()
    card.get_by_role("button", name="Edit").click()
    card.get_by_label("When").fill("every 15 minutes")
    card.get_by_role("button", name="Save").click()
    card.get_by_text("every 15 minutes", exact=True).wait_for()
    assert client.get(SCHEDULES).json()[0]["cron"] == "*/15 * * * *"
    card.get_by_role("button", name="Pause").click()
    card.get_by_text("Paused", exact=True).wait_for()
    card.get_by_role("button", name="Resume").click()
    card.get_by_role("button", name="Pause").wait_for()
    card.get_by_role("button", name="Remove").click()
    page.get_by_text("No schedules yet").wait_for()
    assert client.get(SCHEDULES).json() == []


def test_a_skill_is_added_tested_changed_and_removed(offline_site):
    page = offline_site.open("/memory")
    page.get_by_text("Add a skill").click()
    page.get_by_label("Name: small letters, digits and -").fill("release-notes")
    page.get_by_label("What it is for").fill("Write release notes from commits")
    page.get_by_label("How it is done").fill("List the commits first.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("listitem").get_by_text("Write release notes from commits").wait_for()
    page.get_by_label("Type a request").fill("release notes please")
    page.get_by_role("button", name="Find skills").click()
    page.locator("ol").get_by_text("release-notes").wait_for()
    page.get_by_role("button", name="View").click()
    page.get_by_text("List the commits first.").wait_for()
    page.get_by_role("button", name="Edit").last.click()
    page.get_by_label("What it is for").first.fill("Write a changelog")
    page.get_by_role("button", name="Save").first.click()
    page.get_by_role("listitem").get_by_text("Write a changelog").wait_for()
    page.get_by_role("button", name="View").click()
    page.get_by_role("button", name="Remove").click()
    page.get_by_text("There are no skills yet.").wait_for()
