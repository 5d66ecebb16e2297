"""Signs in to Signal: an account that the daemon has, or a person's own, which it becomes one more device of."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from sojourn.core.errors import BadInput, PlatformDown, SendRefused
from sojourn.platforms.json_values import read_text
from sojourn.platforms.signal import DAEMON_URL, SignalSettings
from sojourn.platforms.signal.daemon import SignalDaemon
from sojourn.platforms.signal.envelopes import is_person
from sojourn.ports.plugin import SignInStep

_QUESTION = (
    "Type the number of the account that signal-cli has, like +491234567, or link to make it one more device of your "
    "own account"
)
_SCAN = "Signal on your phone: Settings, Linked devices, +. Scan this code."
_HINT = "Start it without -a, so that it can have new accounts; docs/how-to/signal.md says how."
_LINK_SCHEME = "sgnl://"


async def sign_in(given: Mapping[str, Any]) -> AsyncGenerator[SignInStep, str]:
    """Yields questions, and a code to scan for a person's own account; then what to keep. BadInput, PlatformDown."""
    url = str(given.get("url") or DAEMON_URL)
    while problem := await _find_problem(url):
        text = f"{problem} Start it as docs/how-to/signal.md says, and type its address, like {DAEMON_URL}"
        url = (yield SignInStep(text=text, has_question=True)).strip()
    account = (yield SignInStep(text=_QUESTION, has_question=True)).strip().lower()
    kept = {"url": url}
    if account.strip("'\"`") == "link":
        link = read_text(await _call(url, "startLink"), "deviceLinkUri")
        if not link.startswith(_LINK_SCHEME):
            raise PlatformDown("The signal-cli daemon gives no code to scan.")
        yield SignInStep(text=_SCAN, scan=link)
        linked = await _call(url, "finishLink", deviceLinkUri=link, deviceName="Sojourn")
        account, kept["linked"] = read_text(linked, "number"), "yes"
    if not is_person(account):
        raise BadInput(f'"{account}" is not a Signal account.', hint="It looks like +491234567.")
    yield SignInStep(text="Signal is connected.", settings={"account": account, **kept})


async def _find_problem(url: str) -> str:
    """Why no daemon answers there; "" if one does."""
    try:
        await _call(url, "version")
    except (PlatformDown, BadInput) as error:
        return str(error)
    return ""


async def _call(url: str, method: str, **params: str) -> Any:
    daemon = SignalDaemon(SignalSettings(account="", url=url))
    try:
        return await daemon.call_all(method, **params)
    except SendRefused as error:
        raise PlatformDown(f"The account could not be linked. {error}", hint=_HINT) from error
    finally:
        await daemon.close()
