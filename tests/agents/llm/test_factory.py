"""The choice of a model from the settings, and the presets of the providers."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
from pydantic import ValidationError

from agents.llm.base import ModelMessage
from agents.llm.config import ModelEndpoint, Traits
from agents.llm.factory import configured_endpoint, configured_model, create_http_client
from agents.llm.providers import PROVIDERS
from core.errors.server import UnusableSetting
from core.outbound.guard import OutboundGuard
from core.settings import Settings
from core.settings.llm import LlmOptions
from tests.agents.llm.helpers import TOOL, events_of, text_of, thoughts_of
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.paths import GUIDE

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def no_keys_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for provider in PROVIDERS.values():
        if provider.key_variable:
            monkeypatch.delenv(provider.key_variable, raising=False)


def settings(**values: object) -> Settings:
    return Settings(_env_file=None, **values)


def choose_endpoint(**values: object) -> ModelEndpoint:
    endpoint = configured_endpoint(settings(**values))
    assert endpoint is not None
    return endpoint


async def test_connections_to_models_are_kept_for_a_while():
    async with create_http_client() as own, create_http_client(OutboundGuard([])) as guarded:
        for client in (own, guarded):
            assert client._transport._pool._keepalive_expiry >= 60


@pytest.mark.parametrize("values", [{}, {"llm_base_url": "http://localhost:1/v1"}, {"llm_model": "m"}])
async def test_offline_model_is_chosen_when_endpoint_or_model_is_missing(client, values):
    assert configured_model(settings(**values), client).is_extractive


async def test_endpoint_is_chosen_when_it_and_a_model_are_set(client):
    values = {"llm_base_url": "http://localhost:1/v1", "llm_model": "m"}
    model = configured_model(settings(**values), client)

    assert (model.name, model.provider, model.is_extractive) == ("m", "openai-compatible", False)


@pytest.mark.parametrize("name", PROVIDERS)
async def test_provider_and_model_are_enough(client, name, monkeypatch):
    provider = PROVIDERS[name]
    if provider.key_variable:
        monkeypatch.setenv(provider.key_variable, "sk-usual")
    endpoint = choose_endpoint(llm_provider=name.upper(), llm_model="m")

    assert (endpoint.provider, endpoint.base_url) == (name, provider.base_url)
    assert endpoint.key == ("sk-usual" if provider.key_variable else "")
    assert endpoint.traits == provider.traits


@pytest.mark.parametrize("name", [n for n, p in PROVIDERS.items() if p.protocol == "openai"])
async def test_preset_is_what_the_endpoint_is_asked_with(client, name):
    traits = PROVIDERS[name].traits
    with ModelServer() as server:
        values = {"llm_provider": name, "llm_model": "reasoning", "llm_base_url": server.base_url}
        options = LlmOptions(max_tokens=50)
        model = configured_model(settings(**values, llm_options=options), client)
        events = await events_of(model, [ModelMessage("system", "S"), ModelMessage("user", "Hi")], [TOOL])

    assert (thoughts_of(events), text_of(events)) == ("First thoughts.", "I will look.")
    (request,) = server.requests
    assert request.body[traits.max_tokens_field] == 50
    assert request.body.get("parallel_tool_calls") == traits.parallel_tools
    assert request.body["messages"][0]["role"] == traits.system_role
    assert "authorization" not in request.headers


def test_every_value_of_a_preset_can_be_overridden(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-usual")
    traits = {
        "tools": "text",
        "parallel_tools": False,
        "stream_usage": False,
        "reasoning_field": "thoughts",
        "echo_reasoning": True,
        "vision": False,
        "think_tags": False,
        "begins_in_thought": True,
        "max_tokens": 77,
        "max_tokens_field": "max_tokens",
        "system_role": "user",
        "context_window": 4096,
        "extra_body": {"reasoning_effort": "low"},
    }
    patience = {"timeout_seconds": 1.5, "call_seconds": 2.5, "attempts": 2}
    monkeypatch.setenv("AGENTEX_LLM_OPTIONS", json.dumps({**traits, **patience}))
    endpoint = choose_endpoint(llm_provider="openai", llm_model="m", llm_base_url="http://x/v1", llm_api_key="sk-own")

    assert (endpoint.base_url, endpoint.key) == ("http://x/v1", "sk-own")
    assert {name: getattr(endpoint.traits, name) for name in traits} == traits
    assert endpoint.traits != PROVIDERS["openai"].traits
    assert (endpoint.read_timeout_seconds, endpoint.call_seconds, endpoint.attempts) == (
        1.5,
        2.5,
        2,
    )
    assert set(LlmOptions.model_fields) == {f.name for f in fields(Traits)} | set(patience)


@pytest.mark.parametrize(
    ("values", "setting"),
    [
        ({"llm_provider": "nobody", "llm_model": "m"}, "AGENTEX_LLM_PROVIDER"),
        ({"llm_provider": "openai"}, "AGENTEX_LLM_MODEL"),
    ],
)
def test_half_a_choice_is_named_and_not_taken_for_offline_mode(values, setting):
    with pytest.raises(UnusableSetting) as caught:
        configured_endpoint(settings(**values))

    assert caught.value.details["setting"] == setting


@pytest.mark.parametrize("options", ["{", "[]", '{"tool": "text"}', '{"attempts": 0}', '{"tools": 1}'])
def test_options_that_can_not_be_are_refused(options, monkeypatch):
    monkeypatch.setenv("AGENTEX_LLM_OPTIONS", options)
    with pytest.raises(ValidationError):
        settings()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_guide_has_a_row_for_each_provider(language: str):
    page = (GUIDE / language / "language-models.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page, flags=re.MULTILINE))
    told = {name: row for name, row in rows.items() if "`http" in row}

    assert set(told) == set(PROVIDERS)
    for name, provider in PROVIDERS.items():
        assert f"`{provider.base_url}`" in told[name]
        assert provider.key_variable is None or f"`{provider.key_variable}`" in told[name]
    assert set(LlmOptions.model_fields) <= set(rows)
