"""Settings over HTTP: what each means, where its value comes from, what it may be; change one, or reset it."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from sojourn.ports.app import AppContext
from sojourn.settings.changes import SettingInfo, change_setting, describe_settings, reset_setting

SettingName = Annotated[str, Path(min_length=1, max_length=100, description="For example `model.name`.")]
_REFUSED: dict[int | str, dict[str, Any]] = {
    400: {"description": "The value is refused; `detail` says what is expected. Nothing was changed."},
    404: {"description": "There is no such setting."},
}


class SettingSchema(BaseModel):
    """A setting as it is in force, and what it may be."""

    model_config = ConfigDict(from_attributes=True)
    name: str
    kind: str = Field(description="text, path, number, decimal, yes/no or secret.")
    value: str | float | bool | None = Field(description="Dots for a secret that is set: it is never told.")
    default: str | float | bool | None
    origin: str = Field(description="default, file, environment or flag. The last two beat a change made here.")
    variable: str
    meaning: str
    minimum: float | None
    maximum: float | None
    choices: list[str]
    is_secret: bool
    is_live: bool = Field(description="A change is in force at once; else after a restart.")


class SettingValue(BaseModel):
    """A new value."""

    model_config = ConfigDict(extra="forbid")
    value: StrictBool | StrictInt | StrictFloat | Annotated[StrictStr, Field(max_length=20_000)]


def add_setting_routes(api: APIRouter, app: AppContext) -> None:
    """The routes under `/api/plugins/dashboard/settings`."""

    @api.get("/settings")
    async def settings() -> list[SettingSchema]:
        """Every setting, its value and where it came from. Secrets stay secret."""
        return [_to_schema(one) for one in describe_settings(app.settings)]

    @api.put("/settings/{name}", responses=_REFUSED)
    async def change(name: SettingName, wanted: SettingValue) -> SettingSchema:
        """Writes it into config.toml, which only its owner can read."""
        return _to_schema(await asyncio.to_thread(change_setting, app, name, wanted.value))

    @api.delete("/settings/{name}", responses=_REFUSED)
    async def reset(name: SettingName) -> SettingSchema:
        """Takes it out of config.toml, so that the default holds."""
        return _to_schema(await asyncio.to_thread(reset_setting, app, name))


def _to_schema(one: SettingInfo) -> SettingSchema:
    return SettingSchema.model_validate(one)
