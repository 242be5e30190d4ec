"""The first start: all of it or nothing, once, whoever else starts at the same moment."""

import asyncio
import stat

import pytest
from sqlmodel import func, select

from cli.server.bootstrap import PASSWORD_FILE, prepare
from cli.server.sample_documents import documentation_files
from core.auth.authentication import check_password
from core.auth.models import Role, StoredSigningKey, User
from core.auth.permissions import BUILT_IN_ROLES
from core.db.database import Database
from core.settings import Settings
from kb_service.models import Document
from skills.models import Skill
from skills.starters import LANGUAGES, starters

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(empty_database_url, tmp_path):
    return Settings(_env_file=None, data_dir=tmp_path / "data", database_url=empty_database_url)


async def count(settings: Settings) -> dict[str, int]:
    database = Database(settings.effective_database_url)
    async with database.reading() as session:
        found = {
            table.__name__: (await session.exec(select(func.count()).select_from(table))).one()
            for table in (User, Role, StoredSigningKey, Document, Skill)
        }
    await database.close()
    return found


WHOLE = {
    "User": 1,
    "Role": len(BUILT_IN_ROLES),
    "StoredSigningKey": 1,
    "Document": len(documentation_files()),
    "Skill": sum(len(starters(language)) for language in LANGUAGES),
}


async def test_processes_that_start_at_once_prepare_one_installation(settings):
    await asyncio.gather(*(prepare(settings) for _ in range(3)))
    assert await count(settings) == WHOLE
    file = settings.data_dir / PASSWORD_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    database = Database(settings.effective_database_url)
    found = await check_password(database, login="admin", password=file.read_text().strip())
    assert found.username == "admin"
    await database.close()


async def test_skills_that_come_with_the_product_are_public_and_faultless(settings):
    await prepare(settings)
    database = Database(settings.effective_database_url)
    async with database.reading() as session:
        skills = (await session.exec(select(Skill))).all()
    await database.close()
    slugs = {f"{one.key}{'' if language == 'en' else '-zh'}" for language in LANGUAGES
             for one in starters(language)}  # fmt: skip
    assert {skill.slug for skill in skills} == slugs
    assert all(skill.is_public and skill.trusted for skill in skills)


async def test_operator_may_name_the_first_administrator(settings):
    wanted = {
        "admin_username": "操作员",
        "admin_email": "operator@example.org",
        "admin_password": "Operator-Password-1",
    }
    settings = settings.model_validate({**settings.model_dump(), **wanted})
    await prepare(settings)
    assert not (settings.data_dir / PASSWORD_FILE).exists()
    database = Database(settings.effective_database_url)
    found = await check_password(database, login="操作员", password=wanted["admin_password"])
    assert (found.username, found.email) == ("操作员", "operator@example.org")
    await database.close()


async def test_first_start_that_was_cut_short_is_a_first_start_again(settings):
    settings.data_dir.mkdir()
    in_the_way = settings.data_dir / "files"
    in_the_way.touch()
    with pytest.raises(NotADirectoryError):
        await prepare(settings)
    in_the_way.unlink()
    await prepare(settings)
    assert await count(settings) == WHOLE
