"""Language model clients built from settings and provider presets."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import httpx
from pydantic import SecretStr

from agents.llm.adapter import HttpChatModel
from agents.llm.anthropic import AnthropicModel
from agents.llm.base import ChatModel
from agents.llm.config import ModelEndpoint, Traits
from agents.llm.extractive.model import ExtractiveModel
from agents.llm.gemini import GeminiModel
from agents.llm.openai import OpenAIModel
from agents.llm.providers import CUSTOM, CUSTOM_NAME, PROVIDERS, ModelProvider, WireProtocol
from core.errors.server import UnusableSetting
from core.outbound.connector import KEPT_SECONDS
from core.outbound.guard import OutboundGuard
from core.outbound.transports import GuardedHttpxTransport
from core.settings import Settings, read_variable
from core.settings.llm import LlmOptions

_ADAPTERS: Mapping[WireProtocol, type[HttpChatModel]] = {
    "openai": OpenAIModel,
    "anthropic": AnthropicModel,
    "gemini": GeminiModel,
}
_TRAITS = frozenset(trait.name for trait in fields(Traits))
_KEPT_CONNECTIONS = 100
_RENAMED = {"timeout_seconds": "read_timeout_seconds"}


def create_http_client(guard: OutboundGuard | None = None) -> httpx.AsyncClient:
    """The HTTP client for model endpoints, which the caller closes; no guard for the operator's own."""
    # A run keeps its connection while its model streams: with a limit, further runs would wait
    # for others to end, and time out.
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=_KEPT_CONNECTIONS, keepalive_expiry=KEPT_SECONDS
    )
    transport = GuardedHttpxTransport(guard, limits) if guard else None
    return httpx.AsyncClient(follow_redirects=False, limits=limits, transport=transport, trust_env=guard is None)


def configured_model(settings: Settings, client: httpx.AsyncClient) -> ChatModel:
    """The model of the settings; the offline model unless an endpoint and a model are named."""
    endpoint = configured_endpoint(settings)
    if endpoint is None:
        return ExtractiveModel()
    return create_model(endpoint, client)


def create_model(endpoint: ModelEndpoint, client: httpx.AsyncClient) -> ChatModel:
    """The adapter for the protocol that an endpoint's provider speaks."""
    protocol = PROVIDERS.get(endpoint.provider, CUSTOM).protocol
    return _ADAPTERS[protocol](endpoint, client)


def configured_endpoint(settings: Settings) -> ModelEndpoint | None:
    """The endpoint of the settings over the provider's preset; None in offline mode."""
    name, provider = _provider(settings)
    base_url = settings.llm_base_url or provider.base_url
    if settings.llm_provider and not settings.llm_model:
        raise UnusableSetting(setting="AGENTEX_LLM_MODEL", error=f"name the model of {name} that shall answer")
    if not base_url or not settings.llm_model:
        return None
    key = settings.llm_api_key or _usual_key(provider)
    endpoint = ModelEndpoint(base_url, settings.llm_model, key, provider=name, traits=provider.traits)
    return with_options(endpoint, settings.llm_options)


def with_options(endpoint: ModelEndpoint, options: LlmOptions | None) -> ModelEndpoint:
    """The endpoint with these options in place of the preset's."""
    # Values were checked when they were read.
    values: dict[str, Any] = options.explicit_values() if options else {}
    traits = {name: value for name, value in values.items() if name in _TRAITS}
    patience = {_RENAMED.get(n, n): value for n, value in values.items() if n not in _TRAITS}
    return replace(endpoint, traits=replace(endpoint.traits, **traits), **patience)


def _provider(settings: Settings) -> tuple[str, ModelProvider]:
    if not settings.llm_provider:
        return CUSTOM_NAME, CUSTOM
    name = settings.llm_provider.strip().lower()
    provider = PROVIDERS.get(name)
    if provider is None:
        names = ", ".join(PROVIDERS)
        raise UnusableSetting(
            setting="AGENTEX_LLM_PROVIDER",
            error=f"this provider is not known; those known are {names}. For any other "
            "OpenAI-compatible endpoint set AGENTEX_LLM_BASE_URL alone",
        )
    return name, provider


def _usual_key(provider: ModelProvider) -> SecretStr | None:
    key = read_variable(provider.key_variable) if provider.key_variable else None
    return SecretStr(key) if key else None
