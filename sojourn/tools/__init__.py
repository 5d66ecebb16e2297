"""DOING: what an agent can do. One family of tools per file; `calling` asks, limits and redacts for all of them."""
