"""A session to share: redacted, complete, and harmless whatever was said in it."""

from html.parser import HTMLParser

import pytest

from sojourn.core.messages import Message, ToolCall, assistant, tool_result, user
from sojourn.core.sessions import Recorded, Session, SessionId
from sojourn.text.html_export import to_html

CALL = ToolCall(id="c", name="terminal", arguments='{"command": "ls"}')


class Page(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {f"{tag}.{name}": value for name, value in attrs}

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def render(*messages: Message, **fields) -> str:
    session = Session(id=SessionId("s"), started_at=1.0, message_count=len(messages), cwd="/home/sam/secret", **fields)
    rows = [Recorded(session=session.id, seq=seq, at=1.0, item=one) for seq, one in enumerate(messages, 1)]
    return "".join(to_html(session, rows))


def test_everything_that_was_said_is_there_but_what_was_undone():
    html = render(
        user("hello"),
        assistant("look:\n```python\nprint(1)\n```\ndone", [CALL]),
        tool_result(CALL, "a.txt"),
        Message(role="user", content="earlier", active=False, compacted=True),
        Message(role="user", content="taken back", active=False),
        title="A talk",
    )
    page = Page(html)
    for words in ("A talk", "hello", "look:", "print(1)", "done", "a.txt", "earlier", "Earlier messages (summarised)"):
        assert words in page.text, words
    assert "taken back" not in html
    assert "/home/sam" not in html
    assert {"pre", "code", "details", "article"} <= set(page.tags)


ATTACKS = (
    "<script>alert(1)</script>",
    "</pre></details><img src=x onerror=alert(1)>",
    "```\n</code></pre><iframe src=//evil></iframe>\n```",
    '"><a href=javascript:alert(1)>x</a>',
    "<!-- --><svg/onload=alert(1)>",
    "```html\n<script>never closed",
    "\x00<\u202escript>",
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_was_said_never_becomes_part_of_the_page(attack):
    call = ToolCall(id="c", name=attack, arguments=attack)
    odd = Message(role=attack, content=attack)
    html = render(user(attack), odd, assistant(attack, [call]), tool_result(call, attack), title=attack, model=attack)
    page = Page(html)
    allowed = {"html", "head", "meta", "title", "style", "body", "header", "h1", "p", "time", "main", "article", "div"}
    assert set(page.tags) <= allowed | {"details", "summary", "code", "pre"}
    assert not any(
        name.partition(".")[2].startswith("on") or name.endswith((".src", ".href")) for name in page.attributes
    )
    assert "\u202e" not in html


def test_secrets_are_blacked_out_and_nothing_is_loaded():
    secret = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8" * 3
    call = ToolCall(id="c", name="terminal", arguments=f'{{"command": "export OPENAI_API_KEY={secret}"}}')
    html = render(user(f"my key is {secret}"), assistant(None, [call]), tool_result(call, secret), title=secret[:90])
    assert secret not in html
    policy = Page(html).attributes["meta.content"]
    assert policy is not None
    assert "default-src 'none'; style-src 'sha256-" in html
    assert "http://" not in html
    assert "https://" not in html
