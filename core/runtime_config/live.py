"""The settings at this moment: the environment's, with what administrators changed since."""

from collections.abc import Sequence
from functools import cache

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import Select

from core.db.database import Database
from core.errors.requests import InvalidRequest
from core.logging import get_logger
from core.runtime_config.models import StoredConfig
from core.runtime_config.registry import KEYS, ConfigValue
from core.settings import Settings

log = get_logger(__name__)

_Rows = Sequence[tuple[str, ConfigValue]]


class LiveSettings:
    """Asks the database each time, so that a change counts everywhere from its commit on.

    It is one query of a table with a row per changed key, on behalf of what takes much longer: an
    upload, a run, a search.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self.environment = settings
        self._last: tuple[_Rows, Settings] = ([], settings)

    async def now(self) -> Settings:
        """The settings at this moment."""
        async with self._database.reading() as session:
            return await self.read(session)

    async def read(self, session: AsyncSession) -> Settings:
        """The same in a session that is open already."""
        rows = [(key, value) for key, value in (await session.exec(_stored())).all()]
        last_rows, settings = self._last
        if rows != last_rows:
            settings = self.environment.model_copy(update=valid_values(rows))
            self._last = (rows, settings)
        return settings


# Built once: building it takes longer than asking it, and every upload asks twice.
@cache
def _stored() -> Select[str, ConfigValue]:
    query = select(col(StoredConfig.key), col(StoredConfig.value))
    return query.order_by(col(StoredConfig.key))


def valid_values(rows: _Rows) -> dict[str, ConfigValue]:
    """The values that count: a row of another version's key or bounds is passed over, and told."""
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
