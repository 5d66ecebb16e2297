"""Dangerous commands and Python code: what the approval question warns about, and why."""
