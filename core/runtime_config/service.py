"""Listing, setting and resetting of run-time settings (docs/reference/agentex-api.md, section 11)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue
from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction, AuditTarget, audit
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import ConfigKeyNotFound
from core.runtime_config.live import valid_values
from core.runtime_config.models import StoredConfig, StoredValue
from core.runtime_config.registry import KEYS, ConfigKey, ConfigValue
from core.settings import Settings

Source = Literal["stored", "environment", "default"]


@dataclass(frozen=True)
class ConfigView:
    """A key as administrators see it.

    Args:
        default: applies if nothing is stored: the environment's value, else the product's.
        updated_at: None if nothing is stored.
    """

    key: ConfigKey
    value: ConfigValue
    default: ConfigValue
    source: Source
    updated_at: datetime | None = None
    updated_by: str | None = None


async def list_config(session: AsyncSession, environment: Settings) -> list[ConfigView]:
    """All keys with their current values."""
    rows = {row.key: row for row in (await session.exec(select(StoredConfig))).all()}
    return [_view(key, environment, rows.get(key.name)) for key in KEYS.values()]


async def set_config(work: UnitOfWork, environment: Settings, name: str, value: JsonValue, *, by: str) -> ConfigView:
    """Store a value, which applies in all processes from the commit on."""
    key = _config_key(name)
    checked = key.checked(value)
    row = await work.session.get(StoredConfig, name, with_for_update=True)
    before = _view(key, environment, row)
    row = row or StoredConfig(key=name, value=_stored(checked))
    row.value, row.updated_by, row.updated_at = _stored(checked), by, utc_now()
    work.session.add(row)
    details: dict[str, JsonValue] = {"before": _stored(before.value), "after": _stored(checked)}
    audit(work.session, AuditAction.CONFIG_CHANGED, AuditTarget("config", name), details=details)
    return _view(key, environment, row)


async def reset_config(work: UnitOfWork, environment: Settings, name: str) -> ConfigView:
    """Delete the stored value; the environment's applies again."""
    key = _config_key(name)
    row = await work.session.get(StoredConfig, name, with_for_update=True)
    before, after = _view(key, environment, row), _view(key, environment, None)
    if row is not None:
        await work.session.delete(row)
        details: dict[str, JsonValue] = {"before": _stored(before.value), "after": _stored(after.value)}
        audit(work.session, AuditAction.CONFIG_RESET, AuditTarget("config", name), details=details)
    return after


def _stored(value: ConfigValue) -> StoredValue:
    return list(value) if isinstance(value, tuple) else value


def _config_key(name: str) -> ConfigKey:
    key = KEYS.get(name)
    if key is None:
        raise ConfigKeyNotFound(key=name[:100], known=list(KEYS))
    return key


def _view(key: ConfigKey, environment: Settings, row: StoredConfig | None) -> ConfigView:
    default: ConfigValue = getattr(environment, key.name)
    stored = valid_values([(row.key, row.value)]) if row is not None else {}
    if row is None or key.name not in stored:
        is_set = key.name in environment.model_fields_set
        return ConfigView(key, default, default, "environment" if is_set else "default")
    value = stored[key.name]
    return ConfigView(key, value, default, "stored", row.updated_at, row.updated_by)
