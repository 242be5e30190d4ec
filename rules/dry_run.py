"""What a rule would do at an event; nothing is stored and nothing is done."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from pydantic import JsonValue
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.authentication import principal_for_user
from core.auth.principal import Principal
from core.db.now import database_now
from rules.actions import ACTIONS
from rules.actions.base import ActionCall, ActionServices, Reason
from rules.execution.decision import KeyMemory, RuleDecision, cooldown_key, decide
from rules.execution.firing import target_of
from rules.execution.rendering import render_action
from rules.language.definition import RuleDefinition
from rules.language.errors import MissingValue, RuleError
from rules.language.events import EventContext, RuleEvent
from rules.language.matching import IndexedRule, compile_rule
from rules.models import Rule, RuleKey
from rules.references import connection_of, params_of

_RESULTS = "results"


@dataclass(frozen=True, slots=True)
class ActionPreview:
    """What an action would be called with.

    Attributes:
        rendered_params: as written, where an earlier action's result is needed.
        missing: the reasons for which it would fail now.
        awaits_results: whether only the results of earlier actions can tell.
    """

    type: str
    target: str
    rendered_params: Mapping[str, JsonValue]
    missing: tuple[Reason, ...] = ()
    awaits_results: bool = False


@dataclass(frozen=True, slots=True)
class DryRun:
    """A decision and the actions that would follow from it.

    Attributes:
        is_triggered: whether the event is of the rule's type and source at all.
    """

    decision: RuleDecision
    is_triggered: bool
    rests_until: datetime | None
    actions: tuple[ActionPreview, ...]

    @property
    def would_execute(self) -> bool:
        return self.is_triggered and self.decision.fires


@dataclass(frozen=True, slots=True)
class Trial:
    """A rule and the event that it is tried with.

    Attributes:
        row: the stored rule, whose state and cooldowns count; None for one that is not stored.
        chain: the rules that led to the event.
    """

    owner_id: str
    definition: RuleDefinition
    event: RuleEvent
    row: Rule | None = None
    chain: tuple[str, ...] = ()

    @property
    def rule(self) -> IndexedRule:
        """The rule, ready to meet the event."""
        rule_id = uuid4() if self.row is None else UUID(self.row.id)
        return compile_rule(rule_id, UUID(self.owner_id), self.event.time, self.definition)


async def try_rule(services: ActionServices, trial: Trial) -> DryRun:
    """Decide on an event as the dispatcher does, and render the actions."""
    async with services.database.reading() as session:
        owner = await principal_for_user(session, trial.owner_id)
        now = await database_now(session)
        memory = await _memory(session, trial)
    state = {} if trial.row is None else trial.row.state
    context = EventContext(trial.event, state=state, previous=memory.previous, has_previous=memory.has_previous)
    decision = decide(trial.rule, context, trial.chain, memory, now)
    previews = [
        await _preview(services, trial, owner, context, position) for position in range(len(trial.definition.actions))
    ]
    return DryRun(decision, _is_triggered(trial), memory.rests_until, tuple(previews))


async def _memory(session: AsyncSession, trial: Trial) -> KeyMemory:
    if trial.row is None:
        return KeyMemory()
    try:
        key = cooldown_key(trial.rule, EventContext(trial.event, state=trial.row.state))
    except RuleError:
        # The decision says so.
        return KeyMemory()
    row = await session.get(RuleKey, (trial.row.id, key))
    if row is None:
        return KeyMemory()
    return KeyMemory(row.rests_until, row.previous, has_previous=row.previous is not None)


def _is_triggered(trial: Trial) -> bool:
    trigger = trial.definition.trigger_config
    is_source = trigger.source_id is None or str(trigger.source_id) == str(trial.event.source_id)
    return trigger.event_type == trial.event.type and is_source


async def _preview(
    services: ActionServices, trial: Trial, owner: Principal, context: EventContext, position: int
) -> ActionPreview:
    action = trial.definition.actions[position]
    try:
        target, params = render_action(action, context)
    except MissingValue as error:
        if not position or not error.path.startswith(_RESULTS):
            return ActionPreview(action.type, target_of(action), {}, (_reason(error),))
        return ActionPreview(action.type, target_of(action), params_of(action), awaits_results=True)
    except RuleError as error:
        return ActionPreview(action.type, target_of(action), {}, (_reason(error),))
    handler = ACTIONS.get(action.type)
    if handler is None:
        return ActionPreview(action.type, target, params)
    call = ActionCall(
        owner=owner,
        rule_id="" if trial.row is None else trial.row.id,
        rule_name=trial.definition.name,
        firing_id="",
        position=position,
        target=target,
        params=params,
        connection_id=connection_of(action),
        source_id=str(trial.event.source_id or ""),
        chain=trial.chain,
        event_data=trial.event.data,
    )
    return ActionPreview(action.type, target, params, tuple(await handler.missing(services, call)))


def _reason(error: RuleError) -> Reason:
    return Reason(error.error, error.error_zh)
