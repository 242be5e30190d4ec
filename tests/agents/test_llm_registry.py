"""The registry of models under concurrent changes by administrators."""

import asyncio
from dataclasses import replace

import httpx
import pytest

from agents.llm_registry.client_cache import PURPOSE, ModelClientCache
from agents.llm_registry.models import RegisteredModel
from agents.llm_registry.service import ModelDraft, ModelRegistry, list_all
from core.db.database import Database
from core.errors.conflicts import ModelNameTaken
from core.outbound.guard import OutboundGuard
from core.security.vault import Vault
from tests.agents.runs.helpers import register
from tests.fixtures.http.client import unique

pytestmark = pytest.mark.anyio
DRAFT = ModelDraft("m", "gpt-4o", base_url="https://1.1.1.1/v1")
PAIRS = 8


@pytest.fixture
async def registry(database: Database) -> ModelRegistry:
    # With an account there are roles.
    await register(database)
    adapters = ModelClientCache(Vault(b"of the tests", PURPOSE), httpx.AsyncClient())
    return ModelRegistry(database, adapters, OutboundGuard([]))


async def defaults(database: Database) -> list[str]:
    async with database.reading() as session:
        return [row.id for row in await list_all(session) if row.is_default]


async def test_of_two_defaults_set_at_once_the_later_one_counts(database: Database, registry: ModelRegistry):
    for _ in range(PAIRS):
        drafts = [replace(DRAFT, name=unique("m"), is_default=True) for _ in range(2)]
        made = await asyncio.gather(*(registry.create(draft, "") for draft in drafts))
        assert len(await defaults(database)) == 1
        changes = [registry.update(row.id, {"is_default": True}, None) for row in made]
        assert {row.id for row in await asyncio.gather(*changes)} == {row.id for row in made}
        assert len(await defaults(database)) == 1


async def test_of_two_models_of_one_name_the_later_one_is_told(database: Database, registry: ModelRegistry):
    for _ in range(PAIRS):
        draft = replace(DRAFT, name=unique("m"))
        outcomes = await asyncio.gather(registry.create(draft, ""), registry.create(draft, ""), return_exceptions=True)
        kinds = {type(outcome) for outcome in outcomes}
        assert kinds == {RegisteredModel, ModelNameTaken}
