"""Routes of the model registry (docs/reference/agentex-api.md, sections 6.2 to 6.4)."""

import json
from typing import Annotated

from fastapi import Depends
from pydantic import AfterValidator, Field

from agents.llm.providers import PROVIDERS
from agents.llm_registry import service as llm_registry
from agents.llm_registry.models import LONGEST_MODEL_ID, LONGEST_NAME
from agents.llm_registry.probe import probe_model
from agents.llm_registry.service import KNOWN_PROVIDERS, ModelDraft
from api.dependencies import Agents, Reading, requires
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, RequestModel, ResponseModel, Secret, Text
from api.http.routing import Router
from api.llm.schemas import ModelConfigAnswer, TestAnswer, config_answer, test_answer
from core.auth.permissions import Permission
from core.errors.auth import ModelNotFound
from core.errors.conflicts import ModelNameTaken
from core.errors.requests import InvalidRequest, UrlNotAllowed
from core.outbound.guard import LONGEST_URL
from core.settings.llm import LlmOptions
from core.text.sanitize import refuse_half_characters, refuse_nul

router = Router(prefix="/api/v1/admin", tags=["models"])
Manage = Depends(requires(Permission.MODELS_MANAGE))
_REFUSALS = (InvalidRequest, UrlNotAllowed, ModelNameTaken)
_MOST_TOKENS = 10_000_000
_MOST_OPTIONS = 10_000


def _registrable(options: LlmOptions) -> LlmOptions:
    fields = options.explicit_values()
    for name in ("max_tokens", "temperature"):
        if name in fields:
            raise ValueError(f"{name} is a field of the model's own")
    text = json.dumps(fields, ensure_ascii=False)
    if len(text) > _MOST_OPTIONS:
        raise ValueError(f"at most {_MOST_OPTIONS} characters of JSON")
    # NUL is written as an escape here.
    refuse_nul(refuse_half_characters(text.replace("\\u0000", "\x00")))
    return options


Name = Annotated[Text, Field(min_length=1, max_length=LONGEST_NAME, examples=["GPT-4o"])]
ModelName = Annotated[Text, Field(min_length=1, max_length=LONGEST_MODEL_ID, examples=["gpt-4o"])]
ProviderName = Annotated[Text, Field(max_length=50, json_schema_extra={"enum": [*KNOWN_PROVIDERS]})]
Address = Annotated[Text, Field(max_length=LONGEST_URL, examples=["https://api.openai.com/v1"])]
Key = Annotated[Secret, Field(max_length=2000, examples=["sk-..."])]
MaxTokens = Annotated[int, Field(ge=1, le=_MOST_TOKENS)]
Temperature = Annotated[float, Field(ge=0, le=2)]
Price = Annotated[float, Field(ge=0, le=1_000_000, description="Per million tokens")]
Options = Annotated[LlmOptions, AfterValidator(_registrable)]
Ids = Annotated[list[Annotated[Text, Field(max_length=100)]], Field(max_length=1000)]


class ModelBody(RequestModel):
    """A model to register (seed 002, section 6.2).

    Where neither ``role_access`` nor ``user_access`` is given everybody may use it; otherwise the
    roles and the users that are listed, and who manages models.
    """

    name: Name
    provider: ProviderName
    base_url: Address | None = None
    api_key: Key | None = None
    model_id: ModelName
    max_tokens: MaxTokens | None = None
    temperature: Temperature | None = None
    options: Options | None = None
    input_price: Price | None = None
    output_price: Price | None = None
    is_default: bool = False
    enabled: bool = True
    role_access: Ids | None = None
    user_access: Ids | None = None


class ModelTestBody(ModelBody):
    """A model to test as it would be registered.

    With ``registered_id``, the edits of a model that is registered: its key is used where ``api_key`` is left out and
    the address is the one that it was given for.
    """

    registered_id: Text | None = None


class ModelChangeBody(RequestModel):
    """What may be changed; what is left out stays.

    Null takes a value away; name, provider, ``model_id`` and the two switches have one always,
    null leaves them as they are.
    """

    name: Name | None = None
    provider: ProviderName | None = None
    base_url: Address | None = None
    api_key: Key | None = None
    model_id: ModelName | None = None
    max_tokens: MaxTokens | None = None
    temperature: Temperature | None = None
    options: Options | None = None
    input_price: Price | None = None
    output_price: Price | None = None
    is_default: bool | None = None
    enabled: bool | None = None
    role_access: Ids | None = None
    user_access: Ids | None = None


_ALWAYS = frozenset({"name", "provider", "model_id", "is_default", "enabled"})


class ModelConfigList(ResponseModel):
    """All registered models."""

    items: list[ModelConfigAnswer]


class ProviderAnswer(ResponseModel):
    """A provider whose address and habits are known; ``base_url`` is null where none is."""

    name: str
    base_url: str | None
    needs_key: bool
    context_window: int | None


class ProviderList(ResponseModel):
    """The providers that a model may name."""

    items: list[ProviderAnswer]


@router.get("/models", dependencies=[Manage])
async def list_registered_models(session: Reading, agents: Agents) -> Envelope[ModelConfigList]:
    """All registered models, those that are switched off included."""
    rows = await llm_registry.list_all(session)
    return Envelope(data=ModelConfigList(items=[config_answer(row, agents.models.clients) for row in rows]))


@router.post("/models", dependencies=[Manage], responses=error_responses(*_REFUSALS))
async def register_model(body: ModelBody, agents: Agents) -> Envelope[ModelConfigAnswer]:
    """Register a model; runs may name it at once."""
    fields = _draft_fields(body, set(ModelBody.model_fields))
    draft = ModelDraft(**fields)  # pyright: ignore[reportArgumentType] # checked by the body
    key = body.api_key or ""
    return Envelope(data=config_answer(await agents.model_registry.create(draft, key), agents.models.clients))


@router.post(
    "/models/test", dependencies=[Manage], responses=error_responses(InvalidRequest, UrlNotAllowed, ModelNotFound)
)
async def test_model_draft(body: ModelTestBody, agents: Agents) -> Envelope[TestAnswer]:
    """Ask a model for its first word, once, before it is registered or changed; nothing is stored."""
    fields = _draft_fields(body, set(ModelBody.model_fields))
    draft = ModelDraft(**fields)  # pyright: ignore[reportArgumentType] # checked by the body
    key = (body.api_key or "") if "api_key" in body.model_fields_set else None
    model = await agents.model_registry.open_draft(draft, key, body.registered_id)
    return Envelope(data=test_answer(await probe_model(model)))


@router.get("/models/{model_id}", dependencies=[Manage], responses=error_responses(ModelNotFound))
async def read_registered_model(model_id: Text, session: Reading, agents: Agents) -> Envelope[ModelConfigAnswer]:
    """One registered model."""
    return Envelope(data=config_answer(await llm_registry.get(session, model_id), agents.models.clients))


@router.put("/models/{model_id}", dependencies=[Manage], responses=error_responses(*_REFUSALS, ModelNotFound))
async def change_model(model_id: Text, body: ModelChangeBody, agents: Agents) -> Envelope[ModelConfigAnswer]:
    """Change a model; the next run on it acts on that.

    One that is switched off is the default no more. A key stays where it was given for: another
    address needs it again.
    """
    set_fields = set(body.model_fields_set)
    fields = _draft_fields(body, set_fields - {n for n in _ALWAYS if getattr(body, n) is None})
    key = (body.api_key or "") if "api_key" in set_fields else None
    row = await agents.model_registry.update(model_id, fields, key)
    return Envelope(data=config_answer(row, agents.models.clients))


@router.delete("/models/{model_id}", dependencies=[Manage], responses=error_responses(ModelNotFound))
async def remove_model(model_id: Text, agents: Agents) -> Empty:
    """Remove a model; a run that is under way on it goes on to its end."""
    await agents.model_registry.delete(model_id)
    return Empty()


@router.get("/model-providers", dependencies=[Manage])
async def list_model_providers() -> Envelope[ProviderList]:
    """The providers whose address is known, and the name of all other endpoints."""
    items = [
        ProviderAnswer(
            name=name,
            base_url=provider.base_url,
            needs_key=provider.key_variable is not None,
            context_window=provider.traits.context_window,
        )
        for name, provider in PROVIDERS.items()
    ]
    others = KNOWN_PROVIDERS[len(items) :]
    items += [ProviderAnswer(name=name, base_url=None, needs_key=False, context_window=None) for name in others]
    return Envelope(data=ProviderList(items=items))


def _draft_fields(body: ModelBody | ModelChangeBody, names: set[str]) -> dict[str, object]:
    fields: dict[str, object] = {n: getattr(body, n) for n in names - {"api_key"}}
    if "base_url" in fields:
        fields["base_url"] = (body.base_url or "").strip()
    if "options" in fields:
        fields["options"] = body.options.explicit_values() if body.options else {}
    return fields
