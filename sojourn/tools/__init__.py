"""Tools: what an agent can do. One family per file; `guard` asks, limits and redacts for all of them."""
