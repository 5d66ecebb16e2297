"""MCP server: past sessions, memory and templates for the agents of other programs."""
