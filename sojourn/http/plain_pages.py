"""Pages without the dashboard's script: for a one-time link, and for an address where there is no page."""

from __future__ import annotations

import secrets

from fastapi import Response
from fastapi.responses import HTMLResponse
from starlette.types import Scope

_PROGRAM_PREFIXES = ("/api/", "/v1/", "/assets/")  # programs ask there, and read JSON
_CLOSED = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_PAGE = """<!doctype html><html lang="{language}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title} · Sojourn</title>
<style nonce="{nonce}">
:root {{ color-scheme: light dark; --bg: #f6f7f5; --text: #17211f; --dim: #56635f; --accent: #0f766e; --ink: #fff; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --bg: #0e1413; --text: #e8efec; --dim: #9db0a9; --accent: #2dd4bf; --ink: #04211d; }}
}}
body {{ margin: 0; min-height: 100vh; display: grid; place-content: center; justify-items: center; text-align: center;
  padding: 2rem; box-sizing: border-box; background: var(--bg); color: var(--text);
  font: 1rem/1.5 Inter, ui-sans-serif, system-ui, sans-serif; }}
h1 {{ margin: 1rem 0 0; font-size: 1.6rem; }}
p {{ max-width: 34rem; margin: .6rem 0 1.4rem; color: var(--dim); }}
a {{ padding: .65rem 1.1rem; border-radius: 10px; background: var(--accent); color: var(--ink); font-weight: 650;
  text-decoration: none; }}
</style>
<main><img src="/assets/icon.svg" alt="" width="56" height="56"><h1>{title}</h1><p>{text}</p>
<a href="/">{link}</a></main>{script}</html>"""
_TEXTS = {
    "en": {
        "used": (
            "This link no longer works",
            "It was used already, or it is older than an hour. Run <code>sojourn dashboard</code> for a new one.",
        ),
        "missing": ("Page not found", "There is no page at this address."),
        "enter": ("Signing you in", "<noscript>The pages need JavaScript.</noscript>"),
        "open": "Open Sojourn",
    },
    "zh": {
        "used": (
            "这个链接已失效",
            "它已经用过，或者超过了一小时。运行 <code>sojourn dashboard</code> 可以得到新的链接。",
        ),
        "missing": ("找不到页面", "这个地址没有页面。"),
        "enter": ("正在登录", "<noscript>页面需要 JavaScript。</noscript>"),
        "open": "打开 Sojourn",
    },
}


def build_page(name: str, languages: str, *, status: int = 200, script: str = "", cookie: str = "") -> Response:
    """One of the pages of `_TEXTS`.

    languages: the header `Accept-Language`
    script: what it runs; nothing else may run
    """
    language = "zh" if languages.lower().startswith("zh") else "en"
    texts, nonce = _TEXTS[language], secrets.token_urlsafe(16)
    title, text = texts[name]
    runs = f"script-src 'nonce-{nonce}'; " if script else ""
    policy = f"default-src 'none'; {runs}style-src 'nonce-{nonce}'; img-src 'self'; {_CLOSED}"
    headers = {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"}
    body = _PAGE.format(
        language=language,
        nonce=nonce,
        title=title,
        text=text,
        link=texts["open"],
        script=f'<script nonce="{nonce}">{script}</script>' if script else "",
    )
    return HTMLResponse(body, status, headers=headers | ({"Set-Cookie": cookie} if cookie else {}))


def is_page_visit(scope: Scope, accept: str) -> bool:
    """Whether a person opens an address in a browser, rather than a program that reads JSON."""
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and "text/html" in accept
        and not scope["path"].startswith(_PROGRAM_PREFIXES)
    )
