"""Schedules and runs as JSON, the same on the command line and over HTTP."""

from __future__ import annotations

import time
from typing import Any

from sojourn.schedules.schedule_book import Schedule, ScheduleRun
from sojourn.text.formatting import to_iso


def schedule_to_json(one: Schedule) -> dict[str, Any]:
    upcoming = None if one.paused else one.recurrence.next_time(max(one.last_at, time.time()))
    return {
        "id": one.id,
        "name": one.name,
        "when": one.when,
        "cron": one.recurrence.cron,
        "timezone": one.recurrence.timezone,
        "text": one.text,
        "deliver": one.deliver or None,
        "runtime": one.runtime or None,
        "model": one.model or None,
        "budget_usd": one.budget_usd or None,
        "paused": one.paused or None,
        "missed": one.missed,
        "next_at": to_iso(upcoming) if upcoming else None,
    }


def run_to_json(one: ScheduleRun) -> dict[str, Any]:
    return {
        "at": to_iso(one.at),
        "state": one.state,
        "session_id": one.session,
        "cost_usd": one.cost_usd,
        "error": one.error or None,
    }
