"""Runtime settings: each is a setting with the same bounds."""

import pytest
from sqlmodel import select

from core.audit.models import AuditEntry
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.runtime_config import service as runtime_config
from core.runtime_config.live import LiveSettings
from core.runtime_config.models import StoredConfig
from core.runtime_config.registry import KEYS
from core.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", KEYS)
def test_key_is_a_setting_that_takes_what_the_key_takes(name: str):
    key = KEYS[name]
    values: list[object] = [key.minimum, key.maximum]
    if key.kind == "boolean":
        values = [False, True]
    if key.kind == "targets":
        values = [(), ("localhost:3001", "[::1]:8765")]
    for value in values:
        assert getattr(Settings(_env_file=None, **{name: value}), name) == value
    default = getattr(Settings(_env_file=None), name)
    assert key.checked([*default] if key.kind == "targets" else default) == default


async def test_stored_value_wins_over_the_environment_until_it_is_reset(database: Database):
    environment = Settings(_env_file=None, run_max_turns=9)
    live = LiveSettings(database, environment)

    async def source() -> str:
        async with database.reading() as session:
            views = {one.key.name: one for one in await runtime_config.list_config(session, environment)}
        return views["run_max_turns"].source

    assert ((await live.now()).run_max_turns, await source()) == (9, "environment")
    async with unit_of_work(database) as work:
        await runtime_config.set_config(work, environment, "run_max_turns", 3, by="ann")
    assert ((await live.now()).run_max_turns, await source()) == (3, "stored")
    async with unit_of_work(database) as work:
        assert (await runtime_config.reset_config(work, environment, "run_max_turns")).value == 9
    assert ((await live.now()).run_max_turns, await source()) == (9, "environment")
    async with database.reading() as session:
        noted = (await session.exec(select(AuditEntry).order_by(AuditEntry.created_at))).all()
    assert [(row.action, row.object_id, row.details) for row in noted] == [
        ("config.changed", "run_max_turns", {"before": 9, "after": 3}),
        ("config.reset", "run_max_turns", {"before": 3, "after": 9}),
    ]


async def test_row_that_this_version_can_not_use_is_passed_over(database: Database):
    async with unit_of_work(database) as work:
        work.session.add(StoredConfig(key="of_another_version", value=1))
        work.session.add(StoredConfig(key="run_max_turns", value=-1))
        work.session.add(StoredConfig(key="run_max_tokens", value=5000))
    settings = await LiveSettings(database, Settings(_env_file=None)).now()
    assert (settings.run_max_turns, settings.run_max_tokens) == (24, 5000)


async def test_stored_targets_are_those_of_the_environments_spelling(database: Database):
    environment = Settings(_env_file=None, allowed_private_targets="mcp.internal:8080")
    live = LiveSettings(database, environment)
    async with unit_of_work(database) as work:
        view = await runtime_config.set_config(
            work, environment, "allowed_private_targets", "LocalHost.:3001,[::1]:1, localhost:3001", by="ann"
        )
    targets = ("localhost:3001", "[::1]:1")
    assert (view.value, (await live.now()).allowed_private_targets) == (targets, targets)
    async with database.reading() as session:
        entry = (await session.exec(select(AuditEntry))).one()
    assert entry.details == {"before": ["mcp.internal:8080"], "after": [*targets]}
