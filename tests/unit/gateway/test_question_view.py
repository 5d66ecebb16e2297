"""A question as a chat may show it."""

from sojourn.gateway.question_view import build_view
from sojourn.text.exact import hash_text

ALL = ("once", "session", "always", "deny")


def asked(shown, exact=None):
    return {"text": "Run this?", "detail": shown, "sha256": hash_text(exact or shown), "choices": ALL}


def test_what_redaction_left_alone_is_shown_with_every_answer():
    view = build_view(asked("make test"))
    assert (view.text, view.choices, view.limit) == ("❓ Run this?\n```\nmake test\n```", ALL, "")


def test_what_was_redacted_can_only_be_denied():
    view = build_view(asked("push [redacted:api-key]", "push secret"))
    assert view.choices == ("deny",)
    assert "blacked out" in view.text
    assert view.whole == ""


def test_a_question_without_a_hash_counts_as_redacted():
    assert build_view({"text": "Run?", "detail": "x", "choices": ALL}).choices == ("deny",)


def test_what_is_long_and_redacted_can_only_be_denied_too():
    view = build_view(asked("[redacted:api-key]" + "x" * 3000, "secret" + "x" * 3000))
    assert view.choices == ("deny",)
    assert "1,518 more characters" in view.limit
    assert view.whole == ""


def test_a_fence_is_longer_than_any_inside():
    view = build_view(asked("a\n``````\nb"))
    assert "\n```````\na\n``````\nb\n```````" in view.text


def test_a_question_without_a_text_offers_all():
    assert build_view({"text": "Go on?", "choices": ALL}).choices == ALL
