"""Rules as files: export, and import with the references that do not exist here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson
from pydantic import JsonValue
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp.models import McpConnection
from core.auth.principal import Principal
from core.json_access import as_list, as_object, as_text
from rules.actions import ACTIONS
from rules.actions.base import ActionCall, ActionServices
from rules.execution.firing import target_of
from rules.language.definition import RuleDefinition
from rules.models import EventSource, Rule, SourceKind
from rules.references import ACTION_PERMISSIONS, connection_of, params_of
from rules.validation import read_definition

FORMAT = "agentex.rule"
FORMAT_VERSION = 1
_TABLES: Mapping[str, type[EventSource] | type[McpConnection]] = {
    SourceKind.MCP.value: McpConnection,
    SourceKind.WEBHOOK.value: EventSource,
}


@dataclass(frozen=True, slots=True)
class MissingReference:
    """What a rule names and the importing person lacks; ``field`` is the path in the rule."""

    field: str
    value: str
    error: str
    error_zh: str


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """A rule out of a file, with the ids of sources that have the same name here."""

    definition: RuleDefinition
    missing: tuple[MissingReference, ...]


async def export(session: AsyncSession, row: Rule) -> bytes:
    """A rule as a file, with the kinds and names of its sources, by which an import finds them again."""
    fields = {**row.definition, "enabled": row.enabled}
    ids = [source_id for _, source_id in _source_ids(fields)]
    sources: dict[str, JsonValue] = {}
    for kind, table in _TABLES.items():
        query = select(table.id, table.name).where(table.owner_id == row.owner_id, col(table.id).in_(ids))
        sources |= {key: {"kind": kind, "name": name} for key, name in (await session.exec(query)).all()}
    document = {"format": FORMAT, "format_version": FORMAT_VERSION, "rule": fields, "sources": sources}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


async def plan_import(
    services: ActionServices, principal: Principal, rule: Mapping[str, JsonValue], sources: Mapping[str, JsonValue]
) -> ImportPlan:
    """Read a rule of a file for a person; nothing is stored.

    Args:
        sources: kind and name by id, as the export has them.

    Raises:
        InvalidRequest: the rule can't be read; it names the field.
    """
    written = read_definition(rule, place="rule")
    fields = written.model_dump(mode="json")
    missing: list[MissingReference] = []
    async with services.database.reading() as session:
        for place, source_id in _source_ids(fields):
            here = await _find_source(session, principal.user_id, source_id, as_object(sources.get(source_id)))
            if here is None:
                missing.append(_missing_source(place, source_id))
            else:
                _put(fields, place, here)
    definition = RuleDefinition.model_validate(fields)
    missing += _missing_permissions(principal, definition)
    incomplete = {entry.field.rpartition(".")[0] for entry in missing}
    for position in range(len(definition.actions)):
        if f"actions.{position}" not in incomplete:
            missing += await _missing_of_action(services, principal, definition, position)
    return ImportPlan(definition, tuple(missing))


def _source_ids(fields: Mapping[str, JsonValue]) -> Iterator[tuple[str, str]]:
    """The paths and ids of all sources and connections that a rule names."""
    trigger = as_object(fields.get("trigger_config"))
    if source_id := as_text(trigger.get("source_id")):
        yield "trigger_config.source_id", source_id
    for position, action in enumerate(as_list(fields.get("actions"))):
        if connection_id := as_text(as_object(action).get("connection_id")):
            yield f"actions.{position}.connection_id", connection_id


def _put(fields: dict[str, JsonValue], place: str, source_id: str) -> None:
    parent, *rest, name = place.split(".")
    node = fields[parent]
    for position in rest:
        node = as_list(node)[int(position)]
    as_object(node)[name] = source_id


async def _find_source(
    session: AsyncSession, owner_id: str, source_id: str, written: Mapping[str, JsonValue]
) -> str | None:
    """The id of a person's source: the same one, or that of the same kind and name."""
    for table in _TABLES.values():
        query = select(table.id).where(table.id == source_id, table.owner_id == owner_id)
        if (await session.exec(query)).first() is not None:
            return source_id
    table = _TABLES.get(as_text(written.get("kind")))
    if table is None:
        return None
    query = select(table.id).where(table.name == as_text(written.get("name")), table.owner_id == owner_id)
    return (await session.exec(query)).first()


def _missing_source(place: str, source_id: str) -> MissingReference:
    return MissingReference(
        place,
        source_id,
        "You have no MCP connection or event source of this id or name: add it, and choose it in the rule",
        "您没有此 ID 或名称的 MCP 连接或事件源：请先添加，再在规则中选择",
    )


def _missing_permissions(principal: Principal, definition: RuleDefinition) -> Iterator[MissingReference]:
    for position, action in enumerate(definition.actions):
        for permission in ACTION_PERMISSIONS[action.type]:
            if permission not in principal.permissions:
                yield MissingReference(
                    f"actions.{position}.type",
                    permission.value,
                    f"Your role lacks the permission {permission.value}, which this action needs",
                    f"您的角色缺少此动作所需的权限 {permission.value}",
                )


async def _missing_of_action(
    services: ActionServices, principal: Principal, definition: RuleDefinition, position: int
) -> Sequence[MissingReference]:
    action = definition.actions[position]
    handler = ACTIONS.get(action.type)
    # Only an event tells what a template gives.
    if handler is None or "{{" in target_of(action):
        return []
    source_id = definition.trigger_config.source_id
    call = ActionCall(
        owner=principal,
        rule_id="",
        rule_name=definition.name,
        firing_id="",
        position=position,
        target=target_of(action),
        params=params_of(action),
        connection_id=connection_of(action),
        source_id="" if source_id is None else str(source_id),
        chain=(),
    )
    field = f"actions.{position}"
    return [
        MissingReference(field, action.type, reason.error, reason.error_zh)
        for reason in await handler.missing(services, call)
    ]
