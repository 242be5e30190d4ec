"""Reading of skills for answers: no database connection is held meanwhile."""

from typing import Any, cast

import pytest

from core.auth.permissions import DEFAULT_ROLE
from core.auth.principal import Principal
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from skills.lint.context import LintContext
from skills.schema import SkillReport
from skills.store import access as skill_access
from skills.store.linting import SkillLinter, read_linted
from tests.fixtures.database.databases import one_database
from tests.fixtures.database.rows import add_user
from tests.fixtures.skills.skill_rows import add_skill

pytestmark = pytest.mark.anyio


class Watching(SkillLinter):
    """Notes how many connections are held while it reads."""

    def __init__(self, database: Database, principal: Principal) -> None:
        super().__init__(principal, cast(Any, None))
        self.pool = cast(Any, database.engine.pool)
        self.held = {"before": 0, "while": 0}

    async def read_context(self, *_: object, **__: object) -> LintContext:
        self.held["before"] = self.pool.checkedout()
        return LintContext()

    async def lint(self, content: bytes, context: LintContext) -> SkillReport:
        self.held["while"] = self.pool.checkedout()
        return await super().lint(content, context)


@one_database
async def test_no_connection_is_held_while_a_skill_is_read(database: Database):
    async with unit_of_work(database) as work:
        anna = await add_user(work)
        skill = await add_skill(work, anna.id, "report")
    principal = Principal(anna.id, anna.username, DEFAULT_ROLE, frozenset())
    async with database.reading() as session:
        seen = await skill_access.get(session, principal, skill.id)
    linter = Watching(database, principal)
    assert (await read_linted(database, seen, linter)).content == b"# SKILL: report"
    assert linter.held == {"before": 1, "while": 0}
