"""Fixtures of the attacks."""

from tests.security.outside import folder, outside  # noqa: F401
