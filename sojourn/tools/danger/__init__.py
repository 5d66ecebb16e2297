"""Which commands and Python code a person is always asked about, and why."""
