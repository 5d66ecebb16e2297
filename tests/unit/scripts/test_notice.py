"""NOTICE names every package whose code is in the pages, in the version that is built in."""

from scripts.notice import LOCK, NOTICE, list_packages


def test_notice_names_every_package_of_the_pages():
    written = set(NOTICE.read_text("utf-8").splitlines())
    shipped = {f"- {name} {version}: " for _, name, version in list_packages(LOCK.read_text("utf-8"))}
    missing = [one for one in sorted(shipped) if not any(line.startswith(one) for line in written)]
    assert len(shipped) > 8
    assert missing == [], "run `python -m scripts.notice`"


def test_tools_for_building_are_no_part_of_the_pages():
    lock = '{"packages": {"": {}, "node_modules/a": {"version": "1"}, "node_modules/b": {"version": "2", "dev": true}}}'
    assert list(list_packages(lock)) == [("node_modules/a", "a", "1")]
