"""Which model the settings choose."""

import httpx
import pytest

from agents.models import configured_model
from core.settings import Settings

pytestmark = pytest.mark.anyio


async def test_offline_model_is_chosen_when_no_endpoint_is_set():
    async with httpx.AsyncClient() as client:
        assert configured_model(Settings(_env_file=None), client).is_extractive


async def test_endpoint_is_chosen_when_it_and_a_model_are_set():
    settings = Settings(_env_file=None, llm_base_url="http://localhost:1/v1", llm_model="m")
    async with httpx.AsyncClient() as client:
        model = configured_model(settings, client)

    assert (model.name, model.is_extractive) == ("m", False)
