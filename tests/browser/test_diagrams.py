"""Footnotes and diagrams in answers. Diagrams are drawn in a frame that can reach nothing, and shown as pictures."""

import pytest

from sojourn.core.messages import assistant, user
from tests.browser.conftest import open_site
from tests.browser.sample_sessions import create_session
from tests.e2e.http_server import Serving

FOOTNOTES = (
    "Water boils at 100 °C[^sea] and freezes at 0[^2], there too[^sea].\n\n[^2]: Pure water.\n[^sea]: At sea level."
)
FLOWCHART = "graph TD\n  A[Start] --> B{Is it raining?}\n  B -->|yes| C[Umbrella]\n  B -->|no| D[Sunglasses]"
SEQUENCE = "sequenceDiagram\n  Alice->>Bob: Hello\n  Bob-->>Alice: Hi"
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURES = (
    f"![a dot](data:image/png;base64,{DOT})\n\n![a chart](https://foreign.test/chart.png)\n\n"
    "![no picture](data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=) ![no page](data:text/html;base64,eA==)"
)
ATTACKS = [
    'graph TD\n  A["<img src=x onerror=window.hurt=1>"] --> B["<script>window.hurt=1</script>"]',
    'graph TD\n  A --> B\n  click A href "javascript:window.hurt=1" "x"\n  click B call alert(1)',
    '%%{init: {"securityLevel": "loose", "htmlLabels": true, "flowchart": {"htmlLabels": true}}}%%\n'
    "graph TD\n  A[\"<iframe srcdoc='<script>parent.hurt=1</script>'></iframe>\"] --> B",
    '%%{init: {"themeCSS": "@import url(http://foreign.test/a.css); * {background: url(http://foreign.test/b)}"}}%%\n'
    "graph TD\n  A --> B\n  style A fill:url(http://foreign.test/c)",
    '%%{init: {"fontFamily": "x; } * { background: url(http://foreign.test/d) } a {"}}%%\n'
    'graph TD\n  A["<image href=http://foreign.test/e>"] --> B@{ img: "http://foreign.test/f.png", label: "x", w: 60 }',
]


def fence(text):
    return f"```mermaid\n{text}\n```"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diagrams")
    home = folder / ".sojourn"
    answers = {
        "footnotes": FOOTNOTES,
        "pictures": PICTURES,
        "diagrams": "\n\n".join(fence(one) for one in (FLOWCHART, SEQUENCE)),
        "broken": fence("graph TD\n  A[[["),
        "attacks": "\n\n".join([*map(fence, ATTACKS), fence(FLOWCHART)]),
    }
    sessions = {
        name: create_session(home, {"title": name, "source": "web"}, user(name), assistant(text))
        for name, text in answers.items()
    }
    with Serving(home, HOME=str(folder), SOJOURN_RUNTIME="echo", SOJOURN_MODEL_DETECT="no") as server:
        yield server, sessions


@pytest.fixture
def site_and_sessions(chromium, library):
    server, sessions = library
    for site in open_site(chromium, server):
        yield site, sessions


def test_footnotes_stand_below_the_answer_and_lead_back(site_and_sessions, find_violations):
    site, sessions = site_and_sessions
    page = site.open(f"/chat/{sessions['footnotes']}")
    notes = page.get_by_role("region", name="Footnotes").get_by_role("listitem")
    notes.first.wait_for()
    assert [text.split(".")[0] for text in notes.all_inner_texts()] == ["At sea level", "Pure water"]
    references = page.get_by_role("link", name="Footnote", exact=False).filter(has_text="1")
    assert references.count() == 2
    references.last.click()
    assert page.evaluate("document.activeElement.textContent").startswith("At sea level.")
    page.get_by_role("link", name="Back to the text of footnote 1").click()
    assert page.evaluate("document.activeElement.textContent") == "1"
    assert find_violations(page) == []


def test_diagrams_are_drawn_in_a_frame_and_shown_as_pictures(site_and_sessions, find_violations):
    site, sessions = site_and_sessions
    page = site.open(f"/chat/{sessions['footnotes']}")
    page.get_by_role("region", name="Footnotes").wait_for()
    assert ("GET", "/diagram-frame") not in site.requests  # loaded on first use only
    page.goto(f"{site.address}/chat/{sessions['diagrams']}")
    pictures = page.get_by_role("img", name="Diagram")
    pictures.nth(1).wait_for()
    assert pictures.first.evaluate("(one) => one.decode().then(() => one.naturalWidth > 50 && one.naturalHeight > 50)")
    assert site.requests.count(("GET", "/diagram-frame")) == 1  # one frame draws them all
    drawn = pictures.first.evaluate("(one) => fetch(one.src).then((answer) => answer.text(), String)")
    assert "Umbrella" in drawn or "TypeError" in drawn  # the page's policy does not let it read the picture
    page.get_by_role("button", name="Source").first.click()
    assert "Is it raining?" in page.locator(".code-block").first.inner_text()
    assert find_violations(page) == []


def test_the_frame_has_no_origin_no_network_and_a_policy_of_its_own(site_and_sessions):
    site, sessions = site_and_sessions
    page = site.open(f"/chat/{sessions['diagrams']}")
    page.get_by_role("img", name="Diagram").first.wait_for()
    frame = next(one for one in page.frames if one.url.endswith("/diagram-frame"))
    assert frame.evaluate("self.origin") == "null"
    assert frame.evaluate("fetch('/healthz').then(() => 'reached', () => 'blocked')") == "blocked"
    assert frame.evaluate("(() => { try { return localStorage.length } catch { return 'none' } })()") == "none"
    page_policy = site.server.client.get("/chat").headers["content-security-policy"]
    assert "unsafe" not in page_policy
    frame_policy = site.server.client.get("/diagram-frame").headers["content-security-policy"]
    assert "sandbox allow-scripts;" in frame_policy
    assert "default-src 'none'" in frame_policy


def test_a_diagram_that_cannot_be_drawn_shows_its_source_and_why(site_and_sessions):
    site, sessions = site_and_sessions
    page = site.open(f"/chat/{sessions['broken']}")
    page.get_by_text("This diagram cannot be drawn").wait_for()
    assert "A[[[" in page.locator(".code-block").inner_text()


def test_hostile_diagrams_run_nothing_and_ask_nobody(site_and_sessions):
    site, sessions = site_and_sessions
    page = site.open(f"/chat/{sessions['attacks']}")
    page.locator(".diagram").last.wait_for()  # the harmless one comes last, and they are drawn in order
    page.wait_for_function(
        "(count) => document.querySelectorAll('.diagram img, .diagram-problem').length >= count", arg=len(ATTACKS) + 1
    )
    assert [frame.evaluate("window.hurt === undefined") for frame in page.frames] == [True, True]
    assert page.locator("main svg:not(.icon), main iframe, main image").count() == 0  # pictures, never markup
    assert site.foreign_requests == []


def test_a_picture_in_the_text_is_shown_and_a_remote_one_is_a_link(site_and_sessions):
    site, sessions = site_and_sessions
    page = site.open(f"/chat/{sessions['pictures']}")
    dot = page.get_by_role("img", name="a dot")
    dot.wait_for()
    assert dot.evaluate("(one) => one.decode().then(() => one.naturalWidth)") == 1
    page.get_by_role("link", name="a chart").wait_for()
    assert page.locator(".answer img").count() == 1  # any other kind stays the text that it is
