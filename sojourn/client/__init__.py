"""The same service as in this process, over HTTP: `connect(settings)` finds a server of this home, or starts one."""

from sojourn.client.discovery import Server, find_server
from sojourn.client.launch import connect, ensure_server
from sojourn.client.remote import RemoteService

__all__ = ["RemoteService", "Server", "connect", "ensure_server", "find_server"]
