"""Markdown as Telegram and Slack say it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.platforms.markdown import render_html
from sojourn.platforms.slack.messages import from_mrkdwn, to_mrkdwn
from sojourn.platforms.telegram.messages import to_html
from tests.servers.telegram import Rendered

SIGNS = st.text(st.sampled_from("*_~`[]()<>&#-|>! \n\\ab1."), max_size=80)


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("**bold** and *slanted*, ~~gone~~", "<b>bold</b> and <i>slanted</i>, <s>gone</s>"),
        ("# Title", "<b>Title</b>"),
        ("# A **very** big title", "<b>A very big title</b>"),
        ("1 < 2 & 3 > 2", "1 &lt; 2 &amp; 3 &gt; 2"),
        ("`a < b`", "<code>a &lt; b</code>"),
        ("```python\nprint('<b>')\n```", "<pre><code class=\"language-python\">print('&lt;b&gt;')</code></pre>"),
        ("```\nplain\n```", "<pre>plain</pre>"),
        ("[here](https://a.example/?b=1&c=2)", '<a href="https://a.example/?b=1&amp;c=2">here</a>'),
        ("[f](g)", "f (g)"),
        ("> said\n> so", "<blockquote>said\nso</blockquote>"),
        ("- one\n- two\n  1. deep", "• one\n• two\n  1. deep"),
        ("3. three\n4. four", "3. three\n4. four"),
        ("one\n\ntwo\nlines", "one\n\ntwo\nlines"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("snake_case_name and 2*3*4", "snake_case_name and 2*3*4".replace("*3*", "<i>3</i>")),
        ("[1]: https://a.example", "[1]: https://a.example"),
        ("![](https://a.example/x)", '<a href="https://a.example/x">https://a.example/x</a>'),
        ("#", "#"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "<pre>| a | b |\n|---|---|\n| 1 | 2 |</pre>"),
    ],
)
def test_markdown_becomes_telegrams_html(markdown, html):
    assert to_html(markdown) == html


@given(SIGNS)
def test_whatever_is_written_telegram_can_read_it(text):
    Rendered(to_html(text))  # raises what Telegram would refuse


@given(st.lists(st.sampled_from(["rain", "garden", "1984", "日本"]), min_size=1))
def test_no_word_is_lost(words):
    assert Rendered(to_html("**" + " ".join(words) + "**")).text == " ".join(words)


@pytest.mark.parametrize(
    ("markdown", "mrkdwn"),
    [
        ("**bold** and *slanted*, ~~gone~~", "*bold* and _slanted_, ~gone~"),
        ("## A **big** title", "*A big title*"),
        ("1 < 2 & 3 > 2", "1 &lt; 2 &amp; 3 &gt; 2"),
        ("```python\nif a < b: pass\n```", "```\nif a &lt; b: pass\n```"),
        ("[here](https://a.example/?b=1&c=2)", "<https://a.example/?b=1&amp;c=2|here>"),
        ("> said\n> so", "> said\n> so"),
        ("- one\n- two", "• one\n• two"),
        ("<!channel> <@U1>", "&lt;!channel&gt; &lt;@U1&gt;"),
    ],
)
def test_markdown_becomes_slacks_mrkdwn(markdown, mrkdwn):
    assert to_mrkdwn(markdown) == mrkdwn


@given(SIGNS)
def test_nobody_is_called_by_what_a_model_writes(text):
    assert "<!" not in to_mrkdwn(text)
    assert "<@" not in to_mrkdwn(text)


@pytest.mark.parametrize(
    ("slack", "words"),
    [
        ("<@U0US> how are you?", "how are you?"),
        ("ask <@U1|ben> in <#C1|garden>", "ask @ben in #garden"),
        ("see <https://a.example/?b&amp;c>", "see https://a.example/?b&c"),
        ("see <https://a.example|this page>", "see [this page](https://a.example)"),
        ("<mailto:ann@a.example|ann@a.example>", "ann@a.example"),
        ("<!here> 1 &lt; 2", "@here 1 < 2"),
    ],
)
def test_slacks_words_are_read_as_people_write_them(slack, words):
    assert from_mrkdwn(slack, "U0US") == words


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("plain words", ""),
        ("**bold**\nnext", "<p><strong>bold</strong><br />\nnext</p>"),
        ("<b>raw</b>", ""),  # words, whatever they look like
        ("<b>*raw*</b>", "<p>&lt;b&gt;<em>raw</em>&lt;/b&gt;</p>"),
        ("*see*\n\n[1]: https://a.example", "<p><em>see</em></p>\n<p>[1]: https://a.example</p>"),
    ],
)
def test_markdown_becomes_html_for_those_who_show_all_of_it(markdown, html):
    assert render_html(markdown) == html


@pytest.mark.parametrize("address", ["javascript:alert(1)", "ftp://a.example"])
@pytest.mark.parametrize("said", [to_html, to_mrkdwn])
def test_an_address_that_cannot_be_linked_is_written_out(said, address):
    assert said(f"[here]({address})").startswith(("here (", "[here]("))
