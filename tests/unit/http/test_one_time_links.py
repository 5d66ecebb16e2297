"""Links that work once."""

from sojourn.http.one_time_links import LINK_SECONDS, OneTimeLinks


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


def test_a_key_works_once_and_not_for_ever():
    clock = Clock()
    links = OneTimeLinks(clock)
    key, late = links.new_key(), links.new_key()
    assert links.redeem(key)
    assert not links.redeem(key)
    clock.now += LINK_SECONDS + 1
    assert not links.redeem(late)
    assert not links.redeem("")


def test_keys_do_not_pile_up_and_can_all_be_taken_back():
    links = OneTimeLinks()
    first = links.new_key()
    keys = [links.new_key() for _ in range(100)]
    assert not links.redeem(first)
    assert links.redeem(keys[0])
    links.clear()
    assert not any(links.redeem(key) for key in keys)
