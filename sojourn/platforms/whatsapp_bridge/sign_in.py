"""Signs in to WhatsApp as a linked device: the risk is accepted, then a person scans codes with their phone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from sojourn.core.errors import BadInput, PlatformDown
from sojourn.platforms.whatsapp_bridge import NAME, PACKAGE, RISK, WhatsappBridgeSettings
from sojourn.platforms.whatsapp_bridge.bridge import Bridge
from sojourn.ports.plugin import SignInStep

_SCAN = "WhatsApp on your phone: Settings, Linked devices, Link a device. Scan this code."


async def sign_in(given: Mapping[str, Any]) -> AsyncGenerator[SignInStep, str]:
    """Yields the warning, then codes to scan as each expires; then what to keep. BadInput, PlatformDown."""
    answer = yield SignInStep(
        text=f"{RISK}\nDo you accept that your account may be closed? Type yes", has_question=True
    )
    if answer.strip().lower() != "yes":
        raise BadInput("Nothing was set up.", hint="Use `whatsapp` with a business number instead.")
    folder = str(given.get("folder") or "")
    if not folder:
        question = f"The folder in which you have run `npm install {PACKAGE}`"
        folder = (yield SignInStep(text=question, has_question=True)).strip()
    settings = WhatsappBridgeSettings(accept_risk=True, folder=Path(folder).expanduser().absolute())
    bridge = Bridge(settings)
    try:
        async with aclosing(bridge.watch_sign_in()) as states:
            async for state in states:
                if state["state"] == "scan":
                    yield SignInStep(text=_SCAN, scan=state["code"])
                elif state["state"] == "open":
                    kept = {"accept_risk": "yes", "folder": str(settings.folder)}
                    await bridge.close()
                    yield SignInStep(text="WhatsApp is connected.", settings=kept)
                    return
                elif state["state"] in ("closed", "signed_out"):
                    raise PlatformDown(f"WhatsApp does not let us connect: {state['reason']} ({state['status']}).")
    finally:
        await bridge.close()
    raise PlatformDown("No code was scanned in time.", hint=f"Run `sojourn gateway add {NAME}` again.")
