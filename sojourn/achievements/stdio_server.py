"""The routes without HTTP: one JSON request per line in, an announced body out.

This is how the plugin inside a real Hermes dashboard asks us, from another process with another Python:

    → {"id": 1, "method": "GET", "path": "achievements", "query": {"wait": "5"}}
    ← {"id": 1, "status": 200, "bytes": 45120}        and then so many bytes of JSON
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

from sojourn.achievements.service import AchievementsService, parse_wait
from sojourn.core.errors import BadInput, NotFound, SojournError

logger = logging.getLogger(__name__)
_AT_ONCE = 32  # requests answered side by side; some of them wait


def serve_lines(service: AchievementsService, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers until the other side closes its end."""
    writing = threading.Lock()

    def answer(line: bytes) -> None:
        number, status, value = _answered(service, line)
        body = json.dumps(value).encode()
        head = json.dumps({"id": number, "status": status, "bytes": len(body)}).encode()
        with writing:
            answers.write(head + b"\n" + body)
            answers.flush()

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for line in requests:
            pool.submit(answer, line)


def _answered(service: AchievementsService, line: bytes) -> tuple[Any, int, Any]:
    number = None
    try:
        request = json.loads(line)
        number = request.get("id")
        status, value = dispatch(service, request["method"], request["path"], request.get("query") or {})
        return number, status, value
    except SojournError as error:
        return number, error.status, _problem(error.status, error.code, str(error), error.hint)
    except Exception as error:  # the edge of a request, as in HTTP: one bad line must not end the conversation
        logger.exception("a request of the Hermes plugin failed")
        return number, 500, _problem(500, "failed", str(error), "")


def dispatch(service: AchievementsService, method: str, path: str, query: Mapping[str, str]) -> tuple[int, Any]:
    """The status and answer of one request."""
    match method, path.strip("/").split("/"):
        case "GET", ["achievements"]:
            return 200, service.achievements(parse_wait(query.get("wait")))
        case "GET", ["scan-status"]:
            return 200, service.scan_status()
        case "GET", ["recent-unlocks"]:
            return 200, service.recent_unlocks()
        case "GET", ["sessions", session, "badges"]:
            return 200, service.session_badges(session)
        case "GET", ["achievements", badge, "receipts"]:
            limit = query.get("limit", "20")
            if not limit.isdecimal() or len(limit) > 3:
                raise BadInput(f"limit={limit} is not a number.", hint="Ask for 1 to 200.")
            return 200, service.receipts(badge, after=query.get("after", ""), limit=int(limit))
        case "POST", ["rescan"]:
            full = query.get("mode") == "full"
            if query.get("wait") in ("true", "1", "yes"):
                return 200, service.rescan_and_wait(full=full)
            return 202, service.rescan(full=full)
        case "POST", ["reset-state"]:
            return 200, service.reset()
    raise NotFound(f"There is no {method} {path}.", hint="GET achievements is the one to begin with.")


def _problem(status: int, code: str, detail: str, hint: str) -> dict[str, Any]:
    return {
        "type": f"urn:sojourn:problem:{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "code": code,
        "hint": hint,
    }
