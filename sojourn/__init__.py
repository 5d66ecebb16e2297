"""Sojourn: one agent session, everywhere."""

__version__ = "0.1.0"
