"""System settings and statistics (docs/reference/agentex-api.md, section 11)."""

import platform
import time
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from typing import Annotated

import psutil
from fastapi import Depends, Header
from pydantic import Field, JsonValue

from api.dependencies import CurrentContext, CurrentPrincipal, Reading, Writing, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, RequestModel, ResponseModel, Text
from api.http.routing import Router
from core.auth.permissions import Permission
from core.errors.auth import ConfigKeyNotFound
from core.runtime_config import service as runtime_config
from core.runtime_config.registry import ConfigKind, ConfigValue
from core.runtime_config.service import ConfigView, Source
from core.settings import Settings

router = Router(
    prefix="/api/v1/admin/system", tags=["system"], dependencies=[Depends(requires(Permission.SYSTEM_MANAGE))]
)
_STEP = 1024
_CHANGE_ERRORS = error_responses(ConfigKeyNotFound)


class ConfigItem(ResponseModel):
    """A setting that can be changed while the server runs."""

    key: str = Field(examples=["max_sessions_per_user"])
    value: ConfigValue = Field(examples=[100])
    description: str = Field(examples=["每用户最大会话数"])
    type: ConfigKind
    minimum: int | None
    maximum: int | None
    default: ConfigValue = Field(description="What counts where nothing is stored")
    source: Source = Field(description="Where `value` comes from; what is stored wins")
    variable: str = Field(description="The environment's variable", examples=["AGENTEX_..."])
    updated_at: datetime | None
    updated_by: str | None


class ConfigList(ResponseModel):
    """All of them."""

    items: list[ConfigItem]
    total: int


class ConfigBody(RequestModel):
    """The new value; its type and bounds are those of the key."""

    value: JsonValue = Field(examples=[200])


def _item(view: ConfigView, language: str) -> ConfigItem:
    key, is_chinese = view.key, language.lower().startswith("zh")
    has_bounds = key.kind != "boolean"
    return ConfigItem(
        key=key.name,
        value=view.value,
        description=key.description_zh if is_chinese else key.description,
        type=key.kind,
        minimum=key.minimum if has_bounds else None,
        maximum=key.maximum if has_bounds else None,
        default=view.default,
        source=view.source,
        variable=f"AGENTEX_{key.name.upper()}",
        updated_at=view.updated_at,
        updated_by=view.updated_by,
    )


class SystemInfo(ResponseModel):
    """The whole system in figures, at most ten seconds old; ``uptime`` in seconds.

    A null means that the part that knows does not answer.
    """

    version: str = Field(examples=["1.0.0"])
    python_version: str
    database_version: str
    uptime: int = Field(examples=[86400], description="Seconds since this API process started")
    user_count: int
    session_count: int
    knowledge_base_count: int
    documents: dict[str, int] = Field(description="By status")
    runs: dict[str, int] = Field(description="By state")
    database_size: str = Field(examples=["1.2 GB"])
    database_bytes: int
    vector_db_size: str = Field(examples=["500 MB"], description="`unknown` where nobody says")
    vector_db_bytes: int | None
    vector_count: int | None
    queue_depth: int | None = Field(description="Jobs that wait or run")
    workers: list[str] | None = Field(description="Those that gave a sign of life lately")


@router.get("/info")
async def read_system_info(context: CurrentContext) -> Envelope[SystemInfo]:
    """Versions, uptime, counts, sizes, the queue and the workers."""
    stats = await context.stats.now()
    info = SystemInfo(
        version=version("agentex"),
        python_version=platform.python_version(),
        database_version=stats.database,
        uptime=int(time.time() - psutil.Process().create_time()),
        user_count=stats.users,
        session_count=stats.sessions,
        knowledge_base_count=stats.knowledge_bases,
        documents=stats.documents,
        runs=stats.runs,
        database_size=_readable(stats.database_bytes),
        database_bytes=stats.database_bytes,
        vector_db_size=_readable(stats.vector_bytes),
        vector_db_bytes=stats.vector_bytes,
        vector_count=stats.points,
        queue_depth=stats.queue_depth,
        workers=stats.workers,
    )
    return Envelope(data=info)


def _readable(size: int | None) -> str:
    if size is None:
        return "unknown"
    amount, units = float(size), ["B", "KB", "MB", "GB", "TB"]
    while amount >= _STEP and len(units) > 1:
        amount, units = amount / _STEP, units[1:]
    return f"{amount:.4g} {units[0]}" if units[0] == "B" else f"{amount:.1f} {units[0]}"


@dataclass(frozen=True)
class _Reader:
    by: str
    language: str
    environment: Settings


async def _reader(
    principal: CurrentPrincipal,
    context: CurrentContext,
    language: Annotated[str, Header(alias="Accept-Language", description="`zh`: Chinese")] = "",
) -> _Reader:
    return _Reader(principal.username, language, context.settings)


Reader = Annotated[_Reader, Depends(_reader)]


@router.get("/config")
async def list_config(reader: Reader, session: Reading) -> Envelope[ConfigList]:
    """What can be changed while the server runs, and what counts at this moment."""
    views = await runtime_config.list_config(session, reader.environment)
    items = [_item(view, reader.language) for view in views]
    return Envelope(data=ConfigList(items=items, total=len(items)))


@router.put("/config/{key}", responses=_CHANGE_ERRORS)
async def change_config(key: Text, body: ConfigBody, reader: Reader, work: Writing) -> Envelope[ConfigItem]:
    """Give a setting another value; it counts at once, in all processes."""
    view = await runtime_config.set_config(work, reader.environment, key, body.value, by=reader.by)
    return Envelope(data=_item(view, reader.language))


@router.delete("/config/{key}", responses=_CHANGE_ERRORS)
async def reset_config(key: Text, reader: Reader, work: Writing) -> Envelope[ConfigItem]:
    """Forget the value that was stored: the environment's counts again."""
    return Envelope(data=_item(await runtime_config.reset_config(work, reader.environment, key), reader.language))
