"""Sync: several machines keep the same sessions through a folder, with nothing running in between."""
