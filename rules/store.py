"""Rules in the database, with their versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson
from pydantic import JsonValue
from sqlalchemy import ColumnElement, func
from sqlalchemy import delete as delete_rows
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.authentication import principal_for_user
from core.auth.locks import lock_owner
from core.auth.principal import Action, Principal
from core.auth.sharing import delete_shares
from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import RuleVersionNotFound
from core.errors.conflicts import Conflict, RuleNameTaken, RulesFull
from core.errors.requests import RequestTooLarge
from rules import access
from rules.language.definition import RuleDefinition
from rules.models import OPEN_STATUSES, Rule, RuleFiring, RuleVersion
from rules.references import require_references
from rules.validation import read_definition

MOST_RULES = 100
"""Of one person."""
MOST_RULES_IN_ALL = 5000
MOST_BYTES = 65_536
"""Of one definition as JSON."""
MOST_VERSIONS = 50
"""Of one rule; the oldest ones make room."""


@dataclass(frozen=True, slots=True)
class RuleVersionListing:
    """One page of a rule's versions, and how many there are in all."""

    items: Sequence[RuleVersion]
    total: int


def definition_of(row: Rule) -> RuleDefinition:
    """A rule's definition, switched on as the rule is now."""
    return RuleDefinition.model_validate({**row.definition, "enabled": row.enabled})


async def create(work: UnitOfWork, principal: Principal, definition: RuleDefinition, *, draft: bool = False) -> Rule:
    """Store a new rule; the rule acts as its owner.

    Args:
        draft: switched off, whatever the definition says, and with references that need not exist.
    """
    owner_id = principal.user_id
    # Two at once must not both find room for the last one, nor the name free.
    await lock_owner(work.session, owner_id)
    await _require_free_name(work.session, owner_id, definition.name)
    if await _count(work.session, col(Rule.owner_id) == owner_id) >= MOST_RULES:
        raise RulesFull(limit=MOST_RULES)
    if await _count(work.session) >= MOST_RULES_IN_ALL:
        raise RulesFull(limit=MOST_RULES_IN_ALL)
    if not draft:
        await require_references(work.session, principal, definition)
    row = Rule(owner_id=owner_id, name="", event_type="", definition={}, enabled=definition.enabled and not draft)
    _assign(row, definition)
    row.due_at = _due_at(row, definition)
    work.session.add(row)
    await work.session.flush()
    _append_version(work, row)
    audit(work.session, AuditAction.RULE_CREATED, _target(row.id))
    return row


async def update(
    work: UnitOfWork,
    principal: Principal,
    rule_id: str,
    change: Mapping[str, JsonValue],
    *,
    version: int | None = None,
) -> Rule:
    """Change fields of a rule's definition; what ``change`` leaves out stays.

    Args:
        version: the version that was read; the change is refused if the rule has another one.
    """
    row = await _get_to_change(work.session, principal, rule_id)
    if version is not None and row.version != version:
        raise Conflict(field="version", version=row.version)
    definition = read_definition({**row.definition, "enabled": row.enabled, **change})
    await _require_free_name(work.session, principal.user_id, definition.name, besides=row.id)
    await require_references(work.session, principal, definition)
    return await _put(work, row, definition)


async def restore(work: UnitOfWork, principal: Principal, rule_id: str, version: int) -> Rule:
    """Give a rule the definition of an earlier version, as a new one; it stays switched on or off."""
    row = await _get_to_change(work.session, principal, rule_id)
    earlier = await get_version(work.session, row.id, version)
    definition = read_definition({**earlier.definition, "enabled": row.enabled})
    await _require_free_name(work.session, principal.user_id, definition.name, besides=row.id)
    await require_references(work.session, principal, definition)
    return await _put(work, row, definition)


async def set_enabled(work: UnitOfWork, principal: Principal, rule_id: str, *, enabled: bool) -> Rule:
    """Switch a rule on or off; a schedule goes on from now.

    Who the rule is shared with may do so too; it needs what its owner has, not what they have.
    """
    session = work.session
    owner_id = (await access.get(session, principal, rule_id, Action.WRITE)).rule.owner_id
    await lock_owner(session, owner_id)
    row = (await access.get(session, principal, rule_id, Action.WRITE)).rule
    await session.refresh(row)
    if row.enabled == enabled:
        return row
    definition = definition_of(row)
    if enabled:
        owner = principal if owner_id == principal.user_id else await principal_for_user(session, owner_id)
        await require_references(session, owner, definition)
    row.enabled, row.updated_at = enabled, utc_now()
    row.due_at = _due_at(row, definition)
    work.session.add(row)
    audit(work.session, AuditAction.RULE_CHANGED, _target(row.id), details={"enabled": enabled})
    return row


async def delete(work: UnitOfWork, principal: Principal, rule_id: str) -> None:
    """Delete a rule with its versions, its log and its shares."""
    row = await _get_to_change(work.session, principal, rule_id)
    await delete_shares(work, Rule.SHARE_KIND, [row.id])
    await work.session.delete(row)
    audit(work.session, AuditAction.RULE_DELETED, _target(rule_id))


async def get_version(session: AsyncSession, rule_id: str, version: int) -> RuleVersion:
    """One version of a rule."""
    row = await session.get(RuleVersion, (rule_id, version))
    if row is None:
        raise RuleVersionNotFound
    return row


async def list_versions(session: AsyncSession, rule_id: str, page: PageRequest) -> RuleVersionListing:
    """One page of a rule's versions."""
    mine = col(RuleVersion.rule_id) == rule_id
    query = paginate(
        select(RuleVersion).where(mine),
        page,
        columns={"version": col(RuleVersion.version)},
        tie=col(RuleVersion.version),
    )
    total = select(func.count()).select_from(RuleVersion).where(mine)
    return RuleVersionListing((await session.exec(query)).all(), (await session.exec(total)).one())


async def _get_to_change(session: AsyncSession, principal: Principal, rule_id: str) -> Rule:
    """The caller's own rule, once other changes of their rules have ended."""
    await lock_owner(session, principal.user_id)
    return (await access.get(session, principal, rule_id, Action.MANAGE)).rule


async def _put(work: UnitOfWork, row: Rule, definition: RuleDefinition) -> Rule:
    before, was_enabled = row.definition, row.enabled
    row.enabled = definition.enabled
    _assign(row, definition)
    has_changed = row.definition != before
    if not has_changed and row.enabled == was_enabled:
        return row
    if row.definition.get("trigger_config") != before.get("trigger_config") or not was_enabled or not row.enabled:
        row.due_at = _due_at(row, definition)
    row.updated_at = utc_now()
    if has_changed:
        row.version += 1
        _append_version(work, row)
        await _delete_old_versions(work, row)
    work.session.add(row)
    await work.session.flush()
    audit(work.session, AuditAction.RULE_CHANGED, _target(row.id), details={"version": row.version})
    return row


def _assign(row: Rule, definition: RuleDefinition) -> None:
    fields = definition.model_dump(mode="json", exclude={"enabled"})
    if len(orjson.dumps(fields)) > MOST_BYTES:
        raise RequestTooLarge(max_bytes=MOST_BYTES)
    trigger = definition.trigger_config
    row.name, row.description = definition.name, definition.description
    row.event_type = trigger.event_type
    row.source_id = None if trigger.source_id is None else str(trigger.source_id)
    row.definition = fields


def _due_at(row: Rule, definition: RuleDefinition) -> datetime | None:
    schedule = definition.trigger_config.schedule
    return schedule.parse().next_after(utc_now()) if schedule is not None and row.enabled else None


def _append_version(work: UnitOfWork, row: Rule) -> None:
    work.session.add(RuleVersion(rule_id=row.id, version=row.version, definition=row.definition))


async def _delete_old_versions(work: UnitOfWork, row: Rule) -> None:
    # A firing that is under way goes on with the version that it began with.
    open_versions = select(RuleFiring.rule_version).where(
        RuleFiring.rule_id == row.id, col(RuleFiring.status).in_(OPEN_STATUSES)
    )
    old = (
        col(RuleVersion.rule_id) == row.id,
        col(RuleVersion.version) <= row.version - MOST_VERSIONS,
        col(RuleVersion.version).not_in(open_versions),
    )
    await work.session.exec(delete_rows(RuleVersion).where(*old))


def _target(rule_id: str) -> AuditTarget:
    # What it does is its owner's alone to see.
    return AuditTarget("rule", rule_id)


async def _count(session: AsyncSession, *conditions: ColumnElement[bool]) -> int:
    return (await session.exec(select(func.count()).select_from(Rule).where(*conditions))).one()


async def _require_free_name(session: AsyncSession, owner_id: str, name: str, *, besides: str = "") -> None:
    query = select(Rule.id).where(Rule.owner_id == owner_id, Rule.name == name, Rule.id != besides)
    if (await session.exec(query)).first() is not None:
        raise RuleNameTaken(field="name", name=name)
