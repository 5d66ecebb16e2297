"""The service over HTTP: `connect(settings)` finds the server of this home, or starts one."""

from sojourn.client.launch import connect, ensure_server, find_server
from sojourn.client.remote import RemoteService
from sojourn.server_file import Server

__all__ = ["RemoteService", "Server", "connect", "ensure_server", "find_server"]
