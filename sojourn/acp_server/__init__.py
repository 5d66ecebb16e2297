"""ACP server: Sojourn as an agent for editors that speak the Agent Client Protocol."""
