"""Questions of agents that others started: what the hooks and the gateway share."""

from __future__ import annotations

SURFACE = "hooks"  # of the sessions in which they are asked
MARK_NOTICE = {"notice": True}  # among the `extra` of a message that a chat gets as it is
