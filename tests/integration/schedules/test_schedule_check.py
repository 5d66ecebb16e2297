"""What a schedule names has to be there when it is made, not only when it runs."""

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.built_in_plugins import BUILT_INS
from sojourn.core.errors import BadInput
from sojourn.plugins import Registry
from sojourn.schedules.schedule_check import check_schedule


@pytest.fixture
def app(home):
    return App(config.load({"home": home}), Registry(BUILT_INS, list))


def test_networks_and_runtimes_that_are_there_pass(app):
    check_schedule(app)
    check_schedule(app, deliver="telegram:42", runtime="offline")
    check_schedule(app, deliver="web")


@pytest.mark.parametrize(
    ("wanted", "hint"), [({"deliver": "telegrm:42"}, "Did you mean telegram?"), ({"runtime": "zzz"}, "There are: ")]
)
def test_what_is_not_there_is_refused_with_what_was_meant(app, wanted, hint):
    with pytest.raises(BadInput) as refused:
        check_schedule(app, **wanted)
    assert refused.value.hint.startswith(hint)
