"""In this folder examples are few, and they are not timed: a busy machine must not fail a property that holds."""

import pytest
from hypothesis import settings


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    """While the modules of this folder are read; the others keep what they chose."""
    chosen = settings.get_current_profile_name()
    settings.register_profile("core", parent=settings.get_profile(chosen), deadline=None, max_examples=60)
    settings.load_profile("core")
    try:
        return (yield)
    finally:
        settings.load_profile(chosen)
