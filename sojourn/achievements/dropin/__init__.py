"""The files that a real Hermes dashboard loads. Copied there as they are; see `hermes_plugin.py`."""
