"""QR codes: for a terminal, and as a picture for a page."""

from __future__ import annotations

from segno import make_qr

_MODULE_PIXELS = 6
_BORDER_MODULES = 4  # modules: the squares of a code


def render_code(text: str) -> str:
    """A QR code for a terminal, in half blocks; dark on light, whatever the terminal's colours are."""
    rows = [[bool(cell) for cell in row] for row in make_qr(text, error="l").matrix_iter(border=_BORDER_MODULES // 2)]
    rows += [[False] * len(rows[0])] if len(rows) % 2 else []
    signs = {(False, False): "█", (False, True): "▀", (True, False): "▄", (True, True): " "}
    lines = ["".join(signs[pair] for pair in zip(*rows[at : at + 2], strict=True)) for at in range(0, len(rows), 2)]
    return "\n".join(f"\033[40;97m{line}\033[0m" for line in lines)


def draw_code(text: str) -> str:
    """A QR code for a page: a picture as a data address."""
    uri: str = make_qr(text, error="l").svg_data_uri(scale=_MODULE_PIXELS, border=_BORDER_MODULES, light="#fff")
    return uri
