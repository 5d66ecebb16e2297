"""The address for phones: a secure one, since browsers install, notify and copy only there; and the ways to get one."""

from __future__ import annotations

from urllib.parse import urlsplit

from sojourn.core.errors import BadConfig

SETTING = "server.public_url"
_WAYS = """A phone needs a secure address (https) for this server. There are three ways to get one:

  Tailscale on this machine and on the phone:
      tailscale serve --bg {port}
      sojourn config set server.public_url https://NAME.TAILNET.ts.net

  a certificate of your own, for example from mkcert, with Caddy in front:
      caddy reverse-proxy --from https://NAME --to 127.0.0.1:{port} --internal-certs
      sojourn config set server.public_url https://NAME

  a reverse proxy that you have already: let it pass on https://NAME to 127.0.0.1:{port}, with its header Host, and
      sojourn config set server.public_url https://NAME

Then start Sojourn again, and run `sojourn dashboard --phone` once more. More: docs/how-to/phone.md"""


def parse_public_url(text: str) -> str:
    """The address as `https://name` or `https://name:port`; "" if none is set. BadConfig."""
    if not text.strip():
        return ""
    try:
        parts = urlsplit(text.strip())
        name, port = parts.hostname, parts.port
    except ValueError:
        name, port = None, None
    is_plain = (
        name is not None and parts.path in ("", "/") and not (parts.query or parts.fragment or "@" in parts.netloc)
    )
    if not is_plain or parts.scheme != "https":
        raise BadConfig(
            f"{SETTING} is {text!r}; it has to be an https address without a path.",
            hint=f"For example: sojourn config set {SETTING} https://laptop.example.org",
        )
    shown = f"[{name}]" if ":" in str(name) else name
    return f"https://{shown}:{port}" if port not in (None, 443) else f"https://{shown}"


def public_name(text: str) -> str:
    """The host's name in that address; "" if none is set. BadConfig."""
    return urlsplit(parse_public_url(text)).hostname or ""


def describe_ways(port: int) -> str:
    """What to do where there is no secure address yet."""
    return _WAYS.format(port=port)
