"""Answers with a skill beside those without it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

from fastapi import Depends, Request
from pydantic import Field
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.llm_registry.selection import SelectedModel
from agents.skill_eval.ab_test import ComparisonReport, ComparisonSetup, SkillComparison
from api.container import AgentServices
from api.dependencies import Agents, CurrentDatabase, CurrentPrincipal, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, RequestModel, Text
from api.http.routing import Router
from api.streaming.framing import EVENT_STREAM
from api.streaming.response import EventStream
from api.streaming.work_stream import Progress, run_with_progress
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.errors.auth import ModelNotFound, SkillNotFound, SkillVersionNotFound
from core.errors.requests import InvalidRequest
from core.errors.server import ModelFailed
from skills import schema
from skills.store import access as skill_access
from skills.store.access import SkillView
from skills.store.catalog import CatalogCard, OpenedSkill, list_files

router = Router(prefix="/api/v1/skills", tags=["skills"])

NO_MODEL = ("no language model is set up: an administrator adds one", "没有设置语言模型：请联系管理员添加")
"""Why a trial that needs a model is refused, in both languages."""
MOST_PAIRS = 50
"""Of answers in one comparison; each takes two answers and two to four judgements."""


class ComparisonBody(RequestModel):
    """A handful of requests that the skill is for."""

    queries: list[Annotated[Text, Field(min_length=1, max_length=2000)]] = Field(
        min_length=1, max_length=MOST_PAIRS, examples=[["Write my daily report: mended the login."]]
    )
    runs: int = Field(
        default=1, ge=1, le=10, description=f"How often each is asked, all together at most {MOST_PAIRS} times"
    )
    version: int | None = Field(default=None, ge=1, le=2**31 - 1)
    against: int | None = Field(
        default=None, ge=1, le=2**31 - 1, description="Another version; absent: against answers without the skill"
    )
    model_id: Text | None = Field(
        default=None, max_length=200, description="Of the model that answers; the caller's default if absent"
    )
    judge_model_id: Text | None = Field(
        default=None, max_length=200, description="Of the model that judges; the same if absent"
    )


@router.post(
    "/{skill_id}/comparison",
    dependencies=[Depends(requires(Permission.AGENT_RUN)), Depends(requires(Permission.SKILL_VIEW))],
    response_model=Envelope[ComparisonReport],
    responses={
        **error_responses(SkillNotFound, SkillVersionNotFound, ModelNotFound, ModelFailed),
        200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}},
    },
)
async def compare_answers(
    skill_id: Text,
    body: ComparisonBody,
    request: Request,
    principal: CurrentPrincipal,
    database: CurrentDatabase,
    agents: Agents,
) -> Envelope[ComparisonReport] | EventStream:
    """Whether answers get better with the skill, or with one version rather than another.

    A language model answers each request both ways, and one judges each pair without knowing which
    is which, in both orders; only where both judgements agree an answer is `better` or `worse`. All
    tokens count as the caller's usage, and nothing is kept.

    With ``Accept: text/event-stream`` the answer tells how far it is in events ``progress`` and
    ends with ``result`` or ``error``. Who closes the connection ends the comparison.
    """
    if len(body.queries) * body.runs > MOST_PAIRS:
        raise InvalidRequest("runs", f"more than {MOST_PAIRS} pairs together", f"合计超过 {MOST_PAIRS} 对回答")
    async with database.reading() as session:
        contest = await _setup(session, agents, principal, skill_id, body)
    comparison = SkillComparison(database, contest)
    answer = await run_with_progress(request, _progress(comparison, body))
    return Envelope(data=answer) if isinstance(answer, ComparisonReport) else answer


async def _setup(
    session: AsyncSession, agents: AgentServices, principal: Principal, skill_id: str, body: ComparisonBody
) -> ComparisonSetup:
    view = await skill_access.get(session, principal, skill_id)
    skill = await _open_version(session, view, body.version)
    against = None
    if body.against is not None:
        if body.against == skill.card.version:
            raise InvalidRequest("against", "the same version", "是同一个版本")
        against = await _open_version(session, view, body.against)
    model = await _model(session, agents, principal, body.model_id, "model_id")
    judge = model
    if body.judge_model_id is not None:
        judge = await _model(session, agents, principal, body.judge_model_id, "judge_model_id")
    return ComparisonSetup(skill, against, model, judge, principal.user_id)


async def _open_version(session: AsyncSession, view: SkillView, number: int | None) -> OpenedSkill:
    """A version that the caller may read, even if their agents may not use it."""
    version = await skill_access.get_version(session, view, number)
    parsed = await schema.from_json(version.parsed)
    card = CatalogCard.of(view.skill, version, "")
    return OpenedSkill(card, parsed, parsed.body, tuple(list_files(version)))


async def _model(
    session: AsyncSession, agents: AgentServices, principal: Principal, model_id: str | None, field: str
) -> SelectedModel:
    chosen = await agents.models.select(session, principal, model_id)
    if chosen.model.is_extractive:
        raise InvalidRequest(field, *NO_MODEL)
    return chosen


async def _progress(comparison: SkillComparison, body: ComparisonBody) -> AsyncGenerator[Progress | ComparisonReport]:
    async with aclosing(comparison.run(body.queries, body.runs)) as counts:
        async for done in counts:
            yield Progress(done=done, total=len(body.queries) * body.runs)
    yield comparison.report(body.runs)
