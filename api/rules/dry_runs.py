"""Tests of rules: what one would do at an event, without doing it."""

from datetime import datetime
from typing import Any
from uuid import UUID

from fastapi import Depends
from pydantic import ConfigDict, Field, JsonValue
from pydantic_core import to_jsonable_python as to_jsonable
from sqlmodel.ext.asyncio.session import AsyncSession

from api.dependencies import CurrentDatabase, CurrentPrincipal, Rules, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, RequestModel, ResponseModel, Text
from api.http.routing import Router
from api.rules.schemas import EXAMPLE, RuleBody, Verdicts, verdicts_of
from core.auth.permissions import Permission
from core.auth.principal import Action
from core.db.types import new_id, utc_now
from core.errors.auth import (
    EventSourceNotFound,
    McpConnectionNotFound,
    OwnerOnly,
    ReadOnly,
    RuleLogNotFound,
    RuleNotFound,
)
from core.errors.requests import InvalidRequest
from rules import access, logs, store
from rules.dry_run import ActionPreview, DryRun, Trial, try_rule
from rules.execution.firing import chain_of, event_view
from rules.language.action_types import BoundedJson
from rules.language.definition import RuleDefinition
from rules.language.events import RuleEvent
from rules.models import LONGEST_EVENT_TYPE, FiringStatus, Rule
from rules.references import require_references

router = Router(prefix="/api/v1/rules", tags=["rules"])
Write = Depends(requires(Permission.RULE_WRITE))
View = Depends(requires(Permission.RULE_VIEW))
_EVENT: dict[str, Any] = {"type": "player_join", "data": {"player": {"name": "testPlayer", "uuid": "xxx"}}}


class SampleEvent(RequestModel):
    """An event that nobody sent; without a ``source_id``, from the rule's source."""

    type: Text = Field(min_length=1, max_length=LONGEST_EVENT_TYPE)
    data: BoundedJson = None
    source_id: UUID | None = None


class RuleTestBody(RequestModel):
    """What a rule is tried with: an event, or an entry of its log."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"test_event": _EVENT}]})

    test_event: SampleEvent | None = None
    log_id: Text | None = Field(default=None, max_length=40)


class DraftTestBody(RuleBody, RuleTestBody):
    """A whole rule that need not be stored, and what it is tried with.

    With ``rule_id``, the state and the cooldowns of that rule count, and ``log_id`` is of its log.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, json_schema_extra={"examples": [{**EXAMPLE, "test_event": _EVENT}]}
    )

    rule_id: Text | None = Field(default=None, max_length=40)


class ActionPreviewAnswer(ResponseModel):
    """An action with its templates filled in; ``missing`` are the reasons for which it would fail now.

    ``missing_zh`` says the same in Chinese, in the same order.
    Where ``awaits_results``, the parameters are as written: they need what earlier actions give.
    """

    type: str
    target: str
    rendered_params: dict[str, JsonValue]
    missing: list[str]
    missing_zh: list[str]
    awaits_results: bool


class DryRunActions(ResponseModel):
    """The actions in their order, also where the rule would not execute them."""

    actions: list[ActionPreviewAnswer]


class CooldownAnswer(ResponseModel):
    """Whether the cooldown of ``key`` holds the rule back, and until when it rests."""

    key: str
    holds_back: bool
    rests_until: datetime | None


class DryRunAnswer(ResponseModel):
    """What a rule would do.

    ``triggered`` is whether the event is of the rule's type and source. ``conditions`` holds each condition's verdict
    with the value that it met. ``status`` is what the log would say, ``pending`` for an execution; ``problem`` says why
    a key or a state can't be made.
    """

    conditions_met: bool
    would_execute: bool
    triggered: bool
    status: FiringStatus
    problem: str
    problem_zh: str
    conditions: Verdicts
    cooldown: CooldownAnswer
    dry_run_result: DryRunActions


def _answer(run: DryRun) -> DryRunAnswer:
    decision = run.decision
    cooldown = CooldownAnswer(
        key=decision.key, holds_back=decision.status is FiringStatus.COOLDOWN, rests_until=run.rests_until
    )
    return DryRunAnswer.model_validate(
        {
            "conditions_met": decision.conditions_met,
            "would_execute": run.would_execute,
            "triggered": run.is_triggered,
            "status": decision.status,
            "problem": decision.problem,
            "problem_zh": decision.problem_zh,
            # A log keeps lists, where the decision has tuples.
            "conditions": verdicts_of(to_jsonable(decision.trace)),
            "cooldown": cooldown,
            "dry_run_result": DryRunActions(actions=[_action(preview) for preview in run.actions]),
        }
    )


def _action(preview: ActionPreview) -> ActionPreviewAnswer:
    return ActionPreviewAnswer(
        type=preview.type,
        target=preview.target,
        rendered_params=dict(preview.rendered_params),
        missing=[reason.error for reason in preview.missing],
        missing_zh=[reason.error_zh for reason in preview.missing],
        awaits_results=preview.awaits_results,
    )


@router.post(
    "/test",
    dependencies=[View],
    responses=error_responses(
        RuleNotFound, ReadOnly, OwnerOnly, RuleLogNotFound, EventSourceNotFound, McpConnectionNotFound
    ),
)
async def test_draft_rule(
    body: DraftTestBody, principal: CurrentPrincipal, database: CurrentDatabase, rules: Rules
) -> Envelope[DryRunAnswer]:
    """Try a rule before it is stored; nothing is executed or stored."""
    fields = body.model_dump(mode="json", exclude={"rule_id", "log_id", "test_event"})
    definition = RuleDefinition.model_validate(fields)
    async with database.reading() as session:
        await require_references(session, principal, definition)
        row = None
        if body.rule_id is not None:
            # What else its state holds is shown by templates that its owner did not write.
            row = (await access.get(session, principal, body.rule_id, Action.MANAGE)).rule
        trial = await _trial(session, principal.user_id, definition, row, body)
    return Envelope(data=_answer(await try_rule(rules.actions, trial)))


@router.post("/{rule_id}/test", dependencies=[View], responses=error_responses(RuleNotFound, RuleLogNotFound))
async def test_rule(
    rule_id: Text, body: RuleTestBody, principal: CurrentPrincipal, database: CurrentDatabase, rules: Rules
) -> Envelope[DryRunAnswer]:
    """Try a rule with an event, as it would act for its owner; nothing is executed or stored."""
    async with database.reading() as session:
        row = (await access.get(session, principal, rule_id)).rule
        trial = await _trial(session, row.owner_id, store.definition_of(row), row, body)
    return Envelope(data=_answer(await try_rule(rules.actions, trial)))


async def _trial(
    session: AsyncSession, owner_id: str, definition: RuleDefinition, row: Rule | None, body: RuleTestBody
) -> Trial:
    if (body.test_event is None) == (body.log_id is None):
        raise InvalidRequest("test_event", "Give either test_event or log_id", "请在 test_event 和 log_id 中填写一个")
    if body.test_event is not None:
        event = _event(body.test_event, definition)
        return Trial(owner_id, definition, event, row)
    if row is None:
        raise InvalidRequest("rule_id", "A log_id needs the rule_id of its rule", "log_id 需要同时填写规则的 rule_id")
    firing = await logs.get(session, row.id, body.log_id or "")
    return Trial(owner_id, definition, event_view(firing.event), row, chain_of(firing.event))


def _event(sample: SampleEvent, definition: RuleDefinition) -> RuleEvent:
    trigger = definition.trigger_config
    return RuleEvent(
        id=new_id(), type=sample.type, source_id=sample.source_id or trigger.source_id, time=utc_now(), data=sample.data
    )
