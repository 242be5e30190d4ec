"""Routes of models: list, test and usage (docs/reference/agentex-api.md, section 6)."""

from dataclasses import asdict
from datetime import date, timedelta
from time import perf_counter
from typing import Annotated, Literal

from fastapi import Depends, Query

from agents.llm.base import ChatModel
from agents.llm_registry import service as llm_registry
from agents.llm_registry.probe import probe_model
from agents.llm_registry.selection import DEFAULT_MODEL_ID
from agents.llm_registry.usage import SORT_FIELDS, UsageFilter, list_usage
from api.container import AgentServices
from api.dependencies import Agents, CurrentContext, CurrentPrincipal, Knowledge, Reading, paging, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, Items, ResponseModel, Text, page_of
from api.http.routing import Router
from api.llm.schemas import SUCCESS, SUCCESS_ZH, ModelAnswer, TestAnswer, chat_answers, embedding_id, test_answer
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.database import Database
from core.db.pagination import PageRequest
from core.db.types import utc_now
from core.errors.auth import ModelNotFound
from core.errors.base import AgentexError
from core.errors.requests import InvalidPagination, InvalidRequest
from core.types.datetimes import Day
from kb_service.embedding_spaces import EmbeddingSpace

router = Router(prefix="/api/v1/models", tags=["models"])
View = Depends(requires(Permission.MODELS_VIEW))
_USUAL_DAYS = 30
_MOST_DAYS = 366
_WORD = "hello"


class ModelList(ResponseModel):
    """The models that the caller may use."""

    items: list[ModelAnswer]


class UsageAnswer(ResponseModel):
    """What one person spent on one model on one day (UTC); ``cost`` is null without a price.

    ``name`` is the model's in the registry, ``model`` the one at its endpoint.
    """

    day: date
    user_id: str
    username: str | None
    model_id: str
    name: str | None
    model: str
    runs: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


class UsageSums(ResponseModel):
    """The sums of all rows, those of other pages included."""

    runs: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


class UsageList(Items[UsageAnswer]):
    """Usage by day, person and model."""

    since: date
    until: date
    totals: UsageSums


@router.get("", dependencies=[View])
async def list_models(
    principal: CurrentPrincipal,
    knowledge: Knowledge,
    agents: Agents,
    session: Reading,
    kind: Annotated[Literal["chat", "embedding"], Query(alias="type")] = "chat",
) -> Envelope[ModelList]:
    """The models that the caller may use.

    ``is_default`` marks the one that answers where neither run nor session names one.
    """
    if kind == "embedding":
        default = knowledge.spaces.default.model
        served = [space.model for space in knowledge.spaces.values()]
        items = [ModelAnswer.of_embedding(model, is_default=model == default) for model in served]
        return Envelope(data=ModelList(items=items))
    usable = await agents.models.list_usable(session, principal)
    return Envelope(data=ModelList(items=chat_answers(usable, agents.models.clients)))


async def _usage_wanted(
    principal: CurrentPrincipal,
    since: Annotated[Day | None, Query(description="First day; 30 days back without it")] = None,
    until: Annotated[Day | None, Query(description="Last day; today without it")] = None,
    scope: Annotated[Literal["own", "all"], Query(description="`all`: everybody's, for who manages models")] = "own",
    user_id: Annotated[Text | None, Query(description="Of `all`, one person's")] = None,
) -> UsageFilter:
    last = until or utc_now().date()
    first = since or max(last, date.min + timedelta(_USUAL_DAYS)) - timedelta(_USUAL_DAYS - 1)
    if not timedelta() <= last - first < timedelta(_MOST_DAYS):
        raise InvalidRequest("since", f"Ask for 1 to {_MOST_DAYS} days, the first one first")
    if scope == "own" and user_id in (None, principal.user_id):
        return UsageFilter(first, last, principal.user_id)
    principal.require(Permission.MODELS_MANAGE)
    return UsageFilter(first, last, user_id)


@router.get("/usage", dependencies=[View], responses=error_responses(InvalidRequest, InvalidPagination))
async def read_model_usage(
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*SORT_FIELDS))],
    usage_filter: Annotated[UsageFilter, Depends(_usage_wanted)],
) -> Envelope[UsageList]:
    """What was spent on models, by day, person and model; one's own unless `scope` says `all`."""
    listing = await list_usage(session, usage_filter, page)
    answers = [UsageAnswer(**row.usage.model_dump(), username=row.username, name=row.name) for row in listing.rows]
    listed = page_of(answers, page, total=listing.total).data
    totals = UsageSums(**asdict(listing.totals))
    return Envelope(
        data=UsageList(**listed.model_dump(), since=usage_filter.since, until=usage_filter.until, totals=totals)
    )


@router.post("/{model_id}/test", dependencies=[View], responses=error_responses(ModelNotFound))
async def test_model(model_id: Text, principal: CurrentPrincipal, context: CurrentContext) -> Envelope[TestAnswer]:
    """Ask a model for its first word, once; who manages models may ask one that is switched off."""
    for space in context.knowledge.spaces.values():
        if embedding_id(space.model.name) == model_id:
            return Envelope(data=await _try_encoder(space))
    return Envelope(
        data=test_answer(await probe_model(await _find(context.database, context.agents, principal, model_id)))
    )


async def _find(database: Database, agents: AgentServices, principal: Principal, model_id: str) -> ChatModel:
    models = agents.models
    is_own = models.find_built_in(model_id) is not None
    async with database.reading() as session:
        if Permission.MODELS_MANAGE in principal.permissions and not is_own:
            return models.clients.open(await llm_registry.get(session, model_id))
        if model_id == DEFAULT_MODEL_ID:
            raise ModelNotFound
        return (await models.select(session, principal, model_id)).model


async def _try_encoder(space: EmbeddingSpace) -> TestAnswer:
    began, failure = perf_counter(), None
    try:
        await space.encoder.embed_queries([_WORD])
    except AgentexError as error:
        failure = error
    return TestAnswer(
        success=failure is None,
        latency=round((perf_counter() - began) * 1000),
        message=failure.message if failure else SUCCESS,
        message_zh=failure.message_zh if failure else SUCCESS_ZH,
        fault=failure.wire_name.lower() if failure else None,
    )
