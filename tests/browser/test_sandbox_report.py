"""The settings page says what this machine can enforce: the same facts as `sojourn doctor`."""

import json
import os
import subprocess

import pytest

from sojourn.sandbox.enforcement import SandboxSupport
from sojourn.sandbox.guarantees import list_guarantees
from tests.e2e.http_server import PROGRAM


@pytest.mark.parametrize("width", [1280, 390])
def test_the_settings_page_says_what_is_enforced_here(site, width):
    page = site.open("/settings/security")
    page.set_viewport_size({"width": width, "height": 900})
    card = page.locator("section", has=page.locator("#sandbox"))
    card.locator("tbody tr").first.wait_for()
    told = site.server.get("/api/sandbox").json()
    assert [row.split("\t")[1] for row in card.locator("tbody tr").all_inner_texts()] == [
        one["by"] or "not enforced" for one in told["guarantees"]
    ]
    assert card.get_by_text("complete", exact=True).count() == int(told["complete"])
    argv = [str(PROGRAM), "--home", str(site.server.home), "--json", "doctor"]
    checks = json.loads(subprocess.run(argv, capture_output=True, text=True).stdout)
    [check] = [one for one in checks if one["check"] == "sandbox"]
    assert (check["state"] == "ok") == told["complete"]
    assert told["mechanism"] in check["detail"] or not told["complete"]
    if folder := os.environ.get("SHOW"):
        card.scroll_into_view_if_needed()
        page.screenshot(path=f"{folder}/sandbox-{width}.png")


def test_a_gap_is_shown_with_what_follows_from_it(site):
    support = SandboxSupport(mechanism="landlock", landlock=3, missing=("Your other programs can be sent signals.",))
    told = {
        "mechanism": "landlock",
        "complete": False,
        "missing": list(support.missing),
        "guarantees": [{"what": one.what, "by": one.by} for one in list_guarantees(support)],
    }
    page = site.open("/settings/security")
    page.route("**/api/sandbox", lambda route: route.fulfill(json=told))
    page.reload()
    card = page.locator("section", has=page.locator("#sandbox"))
    card.get_by_text("Your other programs can be sent signals.").wait_for()
    assert card.get_by_text("Every command is asked about.").is_visible()
    assert card.get_by_text("not enforced").count() == 2  # permissions and times; signals
