"""Trigger tests of skills."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from fastapi import Depends, Query, Request
from pydantic import Field
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.llm_registry.selection import SelectedModel
from agents.skill_eval.trigger_test import TriggerTrials
from api.container import AgentServices, AppContext
from api.dependencies import CurrentContext, CurrentPrincipal, Reading, paging, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, Items, RequestModel, ResponseModel, Text, page_of
from api.http.routing import Router
from api.skills.comparisons import NO_MODEL
from api.streaming.framing import EVENT_STREAM
from api.streaming.response import EventStream
from api.streaming.work_stream import Progress, run_with_progress
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.pagination import PageRequest
from core.db.unit_of_work import unit_of_work
from core.errors.auth import ModelNotFound, SkillNotFound, SkillVersionNotFound
from core.errors.requests import InvalidPagination, InvalidRequest
from core.errors.server import EngineUnavailable, ModelFailed
from skills.models import SkillTriggerTest
from skills.selection import trigger_tests
from skills.selection.trigger_tests import TriggerReport
from skills.store import access as skill_access

router = Router(prefix="/api/v1/skills", tags=["skills"])
View = Depends(requires(Permission.SKILL_VIEW))
Version = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Of this version only")]

MOST_TRIALS = 300
"""Of a model in one test."""


class QueryBody(RequestModel):
    """A request, and whether it should choose the skill."""

    query: Text = Field(min_length=1, max_length=2000)
    should_trigger: bool


class TriggerTestBody(RequestModel):
    """About twenty requests say enough; half of them should not choose the skill."""

    queries: list[QueryBody] = Field(min_length=1, max_length=100)
    runs: int = Field(
        default=3,
        ge=1,
        le=10,
        description="How often a model is asked each request, all together at most "
        f"{MOST_TRIALS} times; the offline selector always says the same",
    )
    version: int | None = Field(default=None, ge=1, le=2**31 - 1)
    by: Literal["auto", "model", "offline"] = Field(
        default="auto",
        description="Who chooses: a language model, the offline selector, or a model if the caller "
        "has one and may run agents",
    )
    model_id: Text | None = Field(
        default=None, max_length=200, description="Of the model; the caller's default if absent"
    )


class TriggerTestAnswer(ResponseModel):
    """A test that was made, with all that it gave."""

    id: str
    created_at: datetime
    report: TriggerReport


@router.post(
    "/{skill_id}/trigger-test",
    dependencies=[View],
    response_model=Envelope[TriggerReport],
    responses={
        **error_responses(SkillNotFound, SkillVersionNotFound, ModelNotFound, ModelFailed, EngineUnavailable),
        200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}},
    },
)
async def try_skill_triggers(
    skill_id: Text, body: TriggerTestBody, request: Request, principal: CurrentPrincipal, context: CurrentContext
) -> Envelope[TriggerReport] | EventStream:
    """Which requests would choose the skill among all those that the caller's agents may use.

    A language model is asked as a run asks it: with the index of skills and ``load_skill`` as the
    choice; its tokens count as the caller's usage. Without one requests go through the selector
    that runs without a model and searches for skills go through: shared words, and closeness of
    meaning by the platform's own encoder.

    With ``Accept: text/event-stream`` the answer tells how far it is in events ``progress`` and
    ends with ``result`` or ``error``. Who closes the connection ends the test: nothing is kept.
    """
    async with context.database.reading() as session:
        view = await skill_access.get(session, principal, skill_id)
        version = await skill_access.get_version(session, view, body.version)
        field = await trigger_tests.read_candidates(session, principal, view, version)
        chosen = await _choose_model(session, context.agents, principal, body)
    queries = tuple(trigger_tests.TriggerQuery(case.query, case.should_trigger) for case in body.queries)
    test = _TriggerTest(context, field, queries, body.runs, chosen)
    answer = await run_with_progress(request, _progress(test))
    return Envelope(data=answer) if isinstance(answer, TriggerReport) else answer


async def _choose_model(
    session: AsyncSession, agents: AgentServices, principal: Principal, body: TriggerTestBody
) -> SelectedModel | None:
    if body.by == "offline" and body.model_id is not None:
        raise InvalidRequest("model_id", "the offline selector asks no model", "离线选择器不使用模型")
    may_run = Permission.AGENT_RUN in principal.permissions
    if body.by == "offline" or (body.by == "auto" and body.model_id is None and not may_run):
        return None
    principal.require(Permission.AGENT_RUN)
    chosen = await agents.models.select(session, principal, body.model_id)
    if chosen.model.is_extractive:
        if body.by == "model":
            raise InvalidRequest("by", *NO_MODEL)
        return None
    if len(body.queries) * body.runs > MOST_TRIALS:
        raise InvalidRequest("runs", f"more than {MOST_TRIALS} trials together", f"合计超过 {MOST_TRIALS} 次测试")
    return chosen


@dataclass(frozen=True)
class _TriggerTest:
    context: AppContext
    field: trigger_tests.TriggerCandidates
    queries: tuple[trigger_tests.TriggerQuery, ...]
    runs: int
    chosen: SelectedModel | None


async def _progress(test: _TriggerTest) -> AsyncGenerator[Progress | TriggerReport]:
    context, field, queries = test.context, test.field, test.queries
    if test.chosen is None:
        report = await trigger_tests.run_offline(field, queries, context.knowledge.spaces.default.encoder)
    else:
        trials = TriggerTrials(context.database, context.agents.skills, test.chosen, field)
        async with aclosing(trials.run(queries, test.runs)) as counts:
            async for done in counts:
                yield Progress(done=done, total=len(queries) * test.runs)
        answers, model = trials.answers(queries), test.chosen.model.name
        report = trigger_tests.make_report(field, answers, model=model, runs=test.runs)
    async with unit_of_work(context.database) as work:
        await trigger_tests.save_report(work, field.tested.id, field.reader_id, report)
    yield report


@router.get(
    "/{skill_id}/trigger-tests", dependencies=[View], responses=error_responses(InvalidPagination, SkillNotFound)
)
async def list_skill_trigger_tests(
    skill_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*trigger_tests.SORT_FIELDS))],
    version: Version = None,
) -> Envelope[Items[TriggerTestAnswer]]:
    """The caller's own tests of a skill, to compare its versions; the last fifty are kept."""
    await skill_access.get(session, principal, skill_id)
    user_id = principal.user_id
    listing = await trigger_tests.list_tests(session, skill_id, user_id, page, version)
    return page_of([_answer(row) for row in listing.items], page, total=listing.total)


def _answer(row: SkillTriggerTest) -> TriggerTestAnswer:
    report = trigger_tests.load_report(row)
    return TriggerTestAnswer(id=row.id, created_at=row.created_at, report=report)
