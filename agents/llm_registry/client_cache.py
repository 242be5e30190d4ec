"""Cached clients of registered models."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import httpx
from pydantic import SecretStr

from agents.llm.adapter import HttpChatModel
from agents.llm.base import ChatModel, ModelEvent, ModelMessage, ToolSpec
from agents.llm.config import ModelEndpoint
from agents.llm.errors import ModelFault, model_failed
from agents.llm.factory import create_model, with_options
from agents.llm.providers import CUSTOM, PROVIDERS
from agents.llm_registry.models import RegisteredModel
from core.security.vault import Vault
from core.settings.llm import LlmOptions

PURPOSE = "model-keys"
_MOST_KEPT = 200


def resolve_base_url(provider: str, base_url: str) -> str:
    """The address itself, or that of the provider's preset; empty if there is neither."""
    return base_url or PROVIDERS.get(provider, CUSTOM).base_url


def build_endpoint(row: RegisteredModel) -> ModelEndpoint:
    """The endpoint of a registered model, without its key."""
    endpoint = ModelEndpoint(
        resolve_base_url(row.provider, row.base_url),
        row.model_id,
        provider=row.provider,
        traits=PROVIDERS.get(row.provider, CUSTOM).traits,
        is_registered=True,
    )
    own = {"max_tokens": row.max_tokens, "temperature": row.temperature}
    return with_options(endpoint, LlmOptions.model_validate({**row.options, **own}))


class ModelClientCache:
    """One client for each registered model until its row changes, since it learns from its endpoint."""

    def __init__(self, keys: Vault, client: httpx.AsyncClient) -> None:
        self._keys = keys
        self._client = client
        self._kept: dict[str, tuple[int, ChatModel]] = {}

    def seal(self, api_key: str) -> str:
        return self._keys.encrypt(api_key)

    def _endpoint(self, row: RegisteredModel) -> ModelEndpoint:
        """The endpoint with its key; a key in the environment is never used for it."""
        sealed = row.sealed_api_key
        key = SecretStr(self._keys.decrypt(sealed)) if sealed else None
        return replace(build_endpoint(row), api_key=key)

    def tools_refused_until(self, row: RegisteredModel) -> datetime | None:
        """Until when this process gives the model its tools in words, as its endpoint refused them."""
        revision, client = self._kept.get(row.id, (0, None))
        if not isinstance(client, HttpChatModel) or revision != row.revision:
            return None
        return client.tool_support.refused_until

    def open_draft(self, row: RegisteredModel) -> ChatModel:
        """A client for a row that need not be stored, which is used once and kept nowhere."""
        return create_model(self._endpoint(row), self._client)

    def open(self, row: RegisteredModel) -> ChatModel:
        revision, client = self._kept.pop(row.id, (0, None))
        if client is None or revision != row.revision:
            client = self.open_draft(row)
        # At the end: the one that was asked for longest ago goes first.
        self._kept[row.id] = row.revision, client
        if len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return client


@dataclass
class UnavailableModel:
    """Stand-in for a run's model that is no longer available: each call fails."""

    name: str
    provider: str = ""
    is_extractive: bool = False
    sees_images: bool = False
    context_window: int = 0

    async def events(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        nothing: tuple[ModelEvent, ...] = ()
        for event in nothing:
            yield event
        raise model_failed(ModelFault.NOT_AVAILABLE)
