"""Response models of language models (docs/reference/agentex-api.md, section 6.1)."""

from datetime import datetime
from typing import Literal, Self
from uuid import NAMESPACE_URL, uuid5

from pydantic import Field, JsonValue

from agents.llm.adapter import HttpChatModel
from agents.llm.base import ChatModel
from agents.llm.config import ModelEndpoint
from agents.llm_registry.client_cache import ModelClientCache, build_endpoint
from agents.llm_registry.models import RegisteredModel
from agents.llm_registry.probe import ModelProbe
from agents.llm_registry.selection import SelectedModel, UsableModels
from api.http.responses import ResponseModel
from kb_service.embeddings.catalog import EmbeddingModel

SUCCESS = "Connection successful"
SUCCESS_ZH = "连接成功"
_REFUSED = "The endpoint refused native tools; until then they are described to the model in words"
_BUILT_IN = "The models of the installation itself, which only its settings change"


class ModelAnswer(ResponseModel):
    """A model as whoever may use it sees it; what a model has not is null.

    ``model_id`` is its name at the endpoint. Prices are per million tokens, in the operator's own
    currency.
    """

    id: str
    type: Literal["chat", "embedding"] = "chat"
    name: str
    provider: str
    model_id: str
    max_tokens: int | None = None
    temperature: float | None = None
    context_window: int | None = None
    tools: bool = False
    vision: bool = False
    tools_refused_until: datetime | None = Field(default=None, description=_REFUSED)
    dimension: int | None = Field(default=None, description="Of an embedding model's vectors")
    languages: list[str] | None = Field(default=None, description="ISO 639-1 codes that an embedding model reads")
    input_price: float | None = None
    output_price: float | None = None
    is_default: bool
    enabled: bool = True
    built_in: bool = Field(default=False, description=_BUILT_IN)

    @classmethod
    def of_row(cls, row: RegisteredModel, clients: ModelClientCache, *, is_default: bool) -> Self:
        answer = cls(
            id=row.id,
            name=row.name,
            provider=row.provider,
            model_id=row.model_id,
            input_price=row.input_price,
            output_price=row.output_price,
            is_default=is_default,
            enabled=row.enabled,
            tools_refused_until=clients.tools_refused_until(row),
        )
        return answer.model_copy(update=_of_endpoint(build_endpoint(row)))

    @classmethod
    def of_built_in(cls, chosen: SelectedModel, *, is_default: bool) -> Self:
        model = chosen.model
        answer = cls(
            id=chosen.id,
            name=model.name,
            provider=model.provider,
            model_id=model.name,
            is_default=is_default,
            built_in=True,
        )
        return answer.model_copy(update=_of_model(model))

    @classmethod
    def of_embedding(cls, model: EmbeddingModel, *, is_default: bool) -> Self:
        source = model.source
        return cls(
            id=embedding_id(model.name),
            type="embedding",
            name=model.name,
            provider=source.kind if source else "built-in",
            model_id=(source.model if source else None) or model.name,
            context_window=model.window_tokens,
            dimension=model.dimension,
            languages=sorted(model.languages),
            is_default=is_default,
            built_in=True,
        )


class ModelConfigAnswer(ModelAnswer):
    """A registered model as administrators see it; its key is never shown."""

    base_url: str | None
    has_secret: bool
    options: dict[str, JsonValue]
    role_access: list[str] | None
    user_access: list[str] | None
    created_at: datetime
    updated_at: datetime


class TestAnswer(ResponseModel):
    """What came of asking a model for its first word (seed 002, section 6.5).

    ``latency`` is in milliseconds. ``fault`` is the stable name of what is wrong.
    """

    success: bool
    latency: int
    message: str
    message_zh: str
    fault: str | None


def test_answer(probe: ModelProbe) -> TestAnswer:
    """The outcome of a connection test in both languages."""
    return TestAnswer(
        success=not probe.fault,
        latency=probe.milliseconds,
        message=probe.reason or SUCCESS,
        message_zh=probe.reason_zh or SUCCESS_ZH,
        fault=probe.fault or None,
    )


def config_answer(row: RegisteredModel, clients: ModelClientCache) -> ModelConfigAnswer:
    """A registered model with all settings except the key."""
    answer = ModelAnswer.of_row(row, clients, is_default=row.is_default)
    return ModelConfigAnswer(
        **answer.model_dump(),
        base_url=row.base_url or None,
        has_secret=row.sealed_api_key is not None,
        options=row.options,
        role_access=row.role_access,
        user_access=row.user_access,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def chat_answers(usable: UsableModels, clients: ModelClientCache) -> list[ModelAnswer]:
    """All chat models that a user may use, built-in ones first."""
    default = usable.default_id
    own = [ModelAnswer.of_built_in(chosen, is_default=chosen.id == default) for chosen in usable.built_in]
    rows = usable.registered
    return own + [ModelAnswer.of_row(row, clients, is_default=row.id == default) for row in rows]


def embedding_id(name: str) -> str:
    """The stable id of an embedding model, from its name."""
    return str(uuid5(NAMESPACE_URL, f"agentex:embedding-model:{name}"))


def _of_model(model: ChatModel) -> dict[str, object]:
    if isinstance(model, HttpChatModel):
        return {**_of_endpoint(model.endpoint), "tools_refused_until": model.tool_support.refused_until}
    # The offline one plans its searches by rules.
    return {"tools": True}


def _of_endpoint(endpoint: ModelEndpoint) -> dict[str, object]:
    traits = endpoint.traits
    return {
        "max_tokens": traits.max_tokens,
        "temperature": traits.temperature,
        "context_window": traits.context_window,
        "tools": traits.tools != "none",
        "vision": traits.vision,
    }
