"""The frame that draws diagrams of answers: our script, an origin without a name, and no way to anybody.

Mermaid reads text by models and strangers and writes styles into what it draws. So it runs here, under a policy of its
own; the page that shows the picture keeps its strict one.
"""

from __future__ import annotations

ADDRESS = "/diagram-frame"
FILE_NAME = "diagram-frame.html"
HEADERS = {
    "Content-Security-Policy": "; ".join(
        (
            "sandbox allow-scripts",
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'unsafe-inline'",  # written by Mermaid; it can load nothing
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'self'",
        )
    ),
    "Connection-Allowlist": "(response-origin)",  # the content policy knows neither preconnect nor calls
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-DNS-Prefetch-Control": "off",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), usb=(), serial=(), clipboard-read=()",
}
