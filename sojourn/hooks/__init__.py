"""Hooks in other agents: what they ask is answered here, in the dashboard and in chats."""
