"""Remembering: what is put before a runtime besides the conversation. One source per file."""
