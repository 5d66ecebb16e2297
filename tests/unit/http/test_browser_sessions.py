"""Links that work once, and cookies that cannot be made up."""

from sojourn.http.browser_sessions import LINK_SECONDS, VISIT_SECONDS, BrowserSessions


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


def value(header):
    return header.partition(";")[0]


def test_a_key_works_once_and_not_for_ever():
    clock = Clock()
    visitors = BrowserSessions("token", clock)
    key, late = visitors.new_key(), visitors.new_key()
    assert visitors.redeem(key)
    assert not visitors.redeem(key)
    clock.now += LINK_SECONDS + 1
    assert not visitors.redeem(late)
    assert not visitors.redeem("")


def test_a_cookie_is_good_for_its_port_its_token_and_its_time():
    clock = Clock()
    visitors = BrowserSessions("token", clock)
    header = visitors.cookie("127.0.0.1:8790")
    assert "HttpOnly" in header
    assert "SameSite=Strict" in header
    cookie = value(header)
    assert visitors.accepts(f"other=1; {cookie}", "localhost:8790")
    assert not visitors.accepts(cookie, "localhost:9999")
    assert not BrowserSessions("another", clock).accepts(cookie, "localhost:8790")
    clock.now += VISIT_SECONDS + 1
    assert not visitors.accepts(cookie, "localhost:8790")


def test_a_made_up_cookie_is_nothing():
    visitors = BrowserSessions("token")
    for wrong in ("", "sojourn-80=", "sojourn-80=9999999999.", "sojourn-80=9999999999.abc", "sojourn-80=x.y", "\x00="):
        assert not visitors.accepts(wrong, "localhost")


def test_an_expired_cookie_is_not_accepted():
    visitors = BrowserSessions("token")
    assert not visitors.accepts(value(visitors.expired_cookie("localhost")), "localhost")
