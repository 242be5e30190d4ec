"""The current settings: the environment's, with administrators' changes."""

from collections.abc import Sequence
from functools import cache

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import Select

from core.db.database import Database
from core.errors.requests import InvalidRequest
from core.logging import get_logger
from core.runtime_config.models import StoredConfig, StoredValue
from core.runtime_config.registry import KEYS, ConfigValue
from core.settings import Settings

log = get_logger(__name__)

_Rows = Sequence[tuple[str, StoredValue]]


class LiveSettings:
    """Asks the database each time, so that a change takes effect everywhere at its commit.

    It is one query of a small table, for operations that take much longer: an upload, a run, a search.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self.environment = settings
        self._last: tuple[_Rows, Settings] = ([], settings)

    async def now(self) -> Settings:
        """The current settings."""
        async with self._database.reading() as session:
            return await self.read(session)

    async def read(self, session: AsyncSession) -> Settings:
        """The current settings, in a session that is already open."""
        rows = [(key, value) for key, value in (await session.exec(_stored())).all()]
        last_rows, settings = self._last
        if rows != last_rows:
            settings = self.environment.model_copy(update=valid_values(rows))
            self._last = (rows, settings)
        return settings


# Built once: building takes longer than running it, and every upload runs it twice.
@cache
def _stored() -> Select[str, StoredValue]:
    query = select(col(StoredConfig.key), col(StoredConfig.value))
    return query.order_by(col(StoredConfig.key))


def valid_values(rows: _Rows) -> dict[str, ConfigValue]:
    """The stored values that apply; a row of another version's key or bounds is skipped and logged."""
    values: dict[str, ConfigValue] = {}
    for name, value in rows:
        key = KEYS.get(name)
        try:
            if key is not None:
                values[name] = key.checked(value)
                continue
        except InvalidRequest:
            pass
        log.warning("config.passed_over", key=name)
    return values
