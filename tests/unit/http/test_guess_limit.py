"""Wrong tokens slow an address down, and only that one."""

from sojourn.http.guess_limit import FREE_COUNT, MAX_DELAY_SECONDS, GuessLimit


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def guess(limit, address, count, start=0):
    for number in range(start, start + count):
        limit.record_failure(address, f"guess {number}")


def test_a_few_mistakes_cost_nothing_and_many_cost_more_and_more():
    limit = GuessLimit(Clock())
    guess(limit, "192.0.2.1", FREE_COUNT)
    assert limit.find_delay("192.0.2.1") == 0
    guess(limit, "192.0.2.1", 2, start=100)
    first = limit.find_delay("192.0.2.1")
    guess(limit, "192.0.2.1", 500, start=200)
    assert 0 < first < limit.find_delay("192.0.2.1") == MAX_DELAY_SECONDS
    assert limit.find_delay("192.0.2.2") == 0


def test_it_is_forgotten_after_a_while():
    clock = Clock()
    limit = GuessLimit(clock)
    guess(limit, "192.0.2.1", 40)
    clock.now += 300
    assert limit.find_delay("192.0.2.1") == 0


def test_a_script_with_an_old_token_is_no_attack():
    limit = GuessLimit(Clock())
    for _ in range(1000):
        limit.record_failure("127.0.0.1", "the old token")
    assert limit.find_delay("127.0.0.1") == 0


def test_a_whole_network_of_version_6_counts_as_one_address():
    limit = GuessLimit(Clock())
    for number in range(100):
        limit.record_failure(f"2001:db8::{number:x}", f"guess {number}")
    assert limit.find_delay("2001:db8::ffff") == MAX_DELAY_SECONDS
    assert limit.find_delay("2001:db8:0:1::1") == 0


def test_memory_is_bounded():
    limit = GuessLimit(Clock())
    for number in range(3000):
        limit.record_failure(f"10.0.{number // 250}.{number % 250}", "guess")
    assert len(limit._known) == 1000
