"""The badges: one request when opened, a live banner while they are counted, silence afterwards."""

import re
import time
from datetime import datetime

import pytest

from tests.browser.conftest import Site, open_site
from tests.browser.sample_sessions import create_sessions
from tests.e2e.http_server import Serving

BADGES = "/api/plugins/hermes-achievements/achievements"
HIDE = """(value) => {
    Object.defineProperty(document, "hidden", {value, configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def fetches(site):
    return site.requests.count(("GET", BADGES))


@pytest.fixture(scope="module")
def samples(offline_server):
    """A server whose history is counted already."""
    offline_server.client.post("/api/plugins/dashboard/samples")
    assert offline_server.client.post("/api/plugins/hermes-achievements/rescan?wait=true").json()["ok"]
    return offline_server


@pytest.fixture
def counted(chromium, samples):
    yield from open_site(chromium, samples)


def test_opening_asks_once_and_a_fresh_answer_is_not_asked_for_again(counted):
    page = counted.open("/achievements")
    page.locator("[data-badge]").first.wait_for()
    page.wait_for_timeout(5000)  # longer than the beat of a refresh
    assert fetches(counted) == 1
    assert page.locator(".ach-banner").count() == 0
    assert re.match(r"as of .*20\d\d", page.locator(".ach-hero-side p").inner_text())


def test_sixty_cards_five_stats_and_filters_that_combine(counted):
    page = counted.open("/achievements")
    page.locator("[data-badge]").nth(59).wait_for()
    labels = page.locator(".ach-stats dt").all_inner_texts()
    assert labels == ["Unlocked", "Discovered", "Secrets", "Highest tier", "Latest"]
    assert page.get_by_role("region", name="Next up").get_by_role("listitem").count() == 3
    category = page.get_by_role("group", name="Category").get_by_role("button", name="Vibe Coding")
    assert re.fullmatch(r"Vibe Coding \d/8", category.inner_text())
    page.get_by_role("group", name="Category").get_by_role("button", name="Vibe Coding").click()
    page.get_by_role("group", name="State").get_by_role("button", name="Discovered").click()
    shown = page.locator("[data-badge]")
    assert 0 < shown.count() < 60
    assert {one.get_attribute("data-state") for one in shown.all()} == {"discovered"}
    page.reload()
    shown.first.wait_for()
    assert page.get_by_role("button", name="Vibe Coding").get_attribute("aria-pressed") == "true"
    page.get_by_label("Search badges").fill("no such badge at all")
    assert "No badges match" in page.locator(".empty-state").inner_text()


def test_secrets_do_not_leak(counted):
    answer = counted.server.client.get(BADGES).json()
    secret = [one for one in answer["achievements"] if one["state"] == "secret"]
    page = counted.open("/achievements?state=secret")
    page.locator("[data-badge]").first.wait_for()
    assert page.locator("[data-badge]").count() == len(secret) > 0
    assert {one.inner_text() for one in page.locator(".ach-count").all()} == {"hidden"}
    assert page.locator("[data-state=secret] button", has_text="Share").count() == 0


def test_rescan_rescans(counted):
    page = counted.open("/achievements")
    page.get_by_role("button", name="Rescan").click()
    page.wait_for_timeout(500)
    assert ("POST", "/api/plugins/hermes-achievements/rescan") in counted.requests
    status = counted.server.client.get("/api/plugins/hermes-achievements/scan-status").json()
    assert status["run_count"] >= 2


def test_a_refused_answer_is_told_and_can_be_tried_again(counted):
    page = counted.open_browser()
    page.route(
        f"**{BADGES}",
        lambda route: route.fulfill(
            status=503, json={"code": "scan_failed", "detail": "The history could not be counted."}
        ),
    )
    page.goto(counted.address + "/achievements")
    assert "could not be counted" in page.get_by_role("alert").inner_text()
    page.unroute(f"**{BADGES}")
    page.get_by_role("button", name="Try again").click()
    page.locator("[data-badge]").first.wait_for()


def test_leaving_takes_the_question_back(counted):
    page = counted.open_browser()
    page.route(f"**{BADGES}", lambda route: None)  # never answered
    failed = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.goto(counted.address + "/achievements")
    page.get_by_role("status", name="Loading achievements").wait_for()
    page.get_by_role("link", name="Sessions").click()
    page.get_by_role("heading", name="Sessions").wait_for()
    page.wait_for_timeout(200)
    assert any(BADGES in url for url in failed)


@pytest.mark.slow
def test_a_cold_scan_counts_up_while_badges_appear_and_then_falls_silent(chromium, home):
    create_sessions(home, 24_000, calls=6)
    with Serving(home) as server:
        site = Site(chromium, server)
        began = time.monotonic()
        page = site.open("/achievements")
        banner = page.locator(".ach-banner")
        banner.wait_for()
        assert banner.locator(".ach-banner-head").inner_text() == "Building achievement profile…"
        assert "small-caps" in banner.locator(".ach-banner-head").evaluate(
            "one => getComputedStyle(one).fontVariantCaps"
        )
        seen, unlocked, skeleton = [], [], 0
        while told := banner.all_inner_texts():  # until it is gone; each look is quick
            if found := re.search(
                r"Scanned ([\d,]+) of 24,000 sessions · (\d+)%\. Badges unlock as more history streams in\.", told[0]
            ):
                seen.append((int(found[1].replace(",", "")), int(found[2])))
                unlocked.append(page.locator("[data-state=unlocked]").count())
            skeleton += page.locator(".ach-skeleton").count()
            page.wait_for_timeout(400)
        assert seen == sorted(seen)
        assert len(set(seen)) >= 1
        assert unlocked == sorted(unlocked)
        assert skeleton == 0
        assert page.locator("[data-state=unlocked]").count() > 0
        polls = fetches(site)
        assert 2 <= polls <= 2 + (time.monotonic() - began) / 4  # every four seconds, however long it took
        page.wait_for_timeout(6000)
        assert fetches(site) - polls <= 1  # the one that saw a refresh still running, at most
        site.close()


def test_nothing_is_asked_in_a_hidden_tab(counted):
    page = counted.open_browser()
    answer = counted.server.client.get(BADGES).json()
    answer["scan_meta"] |= {"mode": "in_progress", "sessions_scanned_so_far": 1750, "sessions_expected_total": 8564}
    page.route(f"**{BADGES}", lambda route: route.fulfill(json=answer))
    page.goto(counted.address + "/achievements")
    assert (
        "Scanned 1,750 of 8,564 sessions · 20%. Badges unlock as more history streams in."
        in page.locator(".ach-banner").inner_text()
    )
    bar = page.get_by_role("progressbar", name="Building achievement profile…")
    assert bar.get_attribute("aria-valuenow") == "20"
    page.evaluate(HIDE, True)
    before = fetches(counted)
    page.wait_for_timeout(5000)
    assert fetches(counted) == before
    page.evaluate(HIDE, False)
    page.wait_for_timeout(300)
    assert fetches(counted) == before + 1


def test_the_card_to_share_is_a_picture_of_the_right_size(counted):
    page = counted.open_browser()
    answer = counted.server.client.get(BADGES).json()
    badge = answer["achievements"][0]
    badge |= {
        "state": "unlocked",
        "unlocked": True,
        "tier": "Gold",
        "next_tier": "Diamond",
        "progress": 1234,
        "unlocked_at": 1_794_000_000,
        "evidence": {"session_id": "x", "title": "<img src=x onerror=alert(1)>", "value": 3},
    }
    page.route(f"**{BADGES}", lambda route: route.fulfill(json=answer))
    page.goto(counted.address + "/achievements")
    assert page.locator(".ach-evidence a").inner_text() == "<img src=x onerror=alert(1)>"
    assert page.locator(".ach-evidence a").get_attribute("href") == "/chat/x"
    page.get_by_role("button", name="Share").first.click()
    check_picture(page)


def check_picture(page):
    """The dialog's picture can be saved, and has the size of a share card and something on it."""
    page.get_by_role("dialog").locator("img").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download PNG").click()
    data = download.value.path().read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(data[16:20]), int.from_bytes(data[20:24])) == (1200, 630)
    assert len(data) > 30_000
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")


def test_all_badges_and_a_year_are_pictures(counted, find_violations):
    page = counted.open_browser()
    answer = counted.server.client.get(BADGES).json()
    for badge, tier in zip(
        answer["achievements"], ("Copper", "Silver", "Gold", "Diamond", "Olympian", None), strict=False
    ):
        badge |= {"state": "unlocked", "unlocked": True, "tier": tier}
    page.route(f"**{BADGES}", lambda route: route.fulfill(json={**answer, "unlocked_count": 6}))
    page.goto(counted.address + "/achievements")
    page.get_by_role("button", name="Profile card").click()
    assert find_violations(page) == []
    check_picture(page)
    asked = len(counted.requests)
    page.get_by_role("button", name="Year in review").click()
    year = page.get_by_role("dialog").get_by_role("img").get_attribute("alt")
    assert re.fullmatch(r"A card with the figures of 20\d\d", year)
    assert find_violations(page) == []
    check_picture(page)
    assert [path for _, path in counted.requests[asked:]] == ["/api/plugins/dashboard/insights"] * 2


def test_what_was_unlocked_since_the_last_visit_is_celebrated_once(counted, find_violations):
    page = counted.open_browser()
    answer = counted.server.client.get(BADGES).json()
    page.route(f"**{BADGES}", lambda route: route.fulfill(json=answer))
    page.goto(counted.address + "/achievements")
    page.locator("[data-badge]").first.wait_for()
    moment = page.get_by_role("status", name="Badge unlocked")
    assert moment.count() == 0  # a history that was counted before is no news
    locked = [one for one in answer["achievements"] if not one["unlocked"]][:2]
    for badge, tier in zip(locked, ("Gold", "Copper"), strict=True):
        badge |= {"state": "unlocked", "unlocked": True, "tier": tier, "name": f"Brand new {tier}"}
    page.reload()
    moment.get_by_role("heading", name="Brand new Gold").wait_for()
    assert "Brand new Copper" in moment.inner_text()
    moment.evaluate("node => Promise.all(node.getAnimations({subtree: true}).map((one) => one.finished))")
    assert find_violations(page) == []
    moment.get_by_role("button", name="Share").click()
    check_picture(page)
    moment.get_by_role("button", name="Close").click()
    moment.wait_for(state="detached")
    page.reload()
    page.locator("[data-badge]").first.wait_for()
    assert moment.count() == 0


def test_badges_have_the_date_of_the_history_and_receipts_its_messages(chromium, home):
    """Not the date of the scan, which is today."""
    create_sessions(home, 40, calls=4)
    with Serving(home) as server:
        server.client.post("/api/plugins/hermes-achievements/rescan?wait=true")
        site = Site(chromium, server)
        page = site.open("/achievements?sort=nearest")
        badges = server.client.get(BADGES).json()["achievements"]
        reached = {one["id"]: one["reached_at"] for one in badges if one["unlocked"]}
        assert reached
        assert max(reached.values()) < time.time() - 86_400
        for badge, at in reached.items():
            shown = page.locator(f"[data-badge='{badge}'] time").get_attribute("datetime")
            assert datetime.fromisoformat(shown).timestamp() == pytest.approx(at, abs=1)
        page.get_by_role("button", name="Receipts").first.click()
        page.locator(".ach-receipts li").first.wait_for()
        page.locator(".ach-receipts a").first.click()
        page.wait_for_url("**/chat/copy-*")
        site.close()
