"""The audit entries of the tool policies that people choose."""

import pytest
from sqlmodel import select

from agents.tool_policies import service as tool_policies
from agents.tools import DEFAULT_POLICIES
from core.audit.models import AuditEntry
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.settings.tool_policies import ServerPolicies, ToolPolicy
from tests.agents.runs.helpers import register
from tests.fixtures.database.databases import one_database

pytestmark = pytest.mark.anyio


@one_database
async def test_choice_of_nothing_is_not_noted_like_forgetting_all(database: Database):
    owner = await register(database)
    server, nothing = ServerPolicies(DEFAULT_POLICIES, {}), dict[str, ToolPolicy | None]()
    async with unit_of_work(database) as work:
        await tool_policies.set_policies(work, owner.user_id, server, nothing)
    async with database.reading() as session:
        assert (await session.exec(select(AuditEntry))).all() == []
    async with unit_of_work(database) as work:
        await tool_policies.reset_policies(work, owner.user_id)
    async with database.reading() as session:
        assert len((await session.exec(select(AuditEntry))).all()) == 1
