"""Rules as files: export and import."""

from typing import Annotated, Literal

from fastapi import Depends, Query
from fastapi.responses import Response
from pydantic import Field, JsonValue

from api.dependencies import CurrentContext, CurrentPrincipal, Reading, Rules, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, RequestModel, ResponseModel, Text
from api.http.routing import Router
from api.rules.schemas import EXAMPLE, RuleDetail, rule_detail
from core.auth.permissions import Permission
from core.db.unit_of_work import unit_of_work
from core.errors.auth import RuleNotFound
from core.errors.conflicts import RuleNameTaken, RulesFull
from rules import access, store, transfer
from rules.language.definition import LONGEST_NAME
from rules.transfer import FORMAT, FORMAT_VERSION, MissingReference

router = Router(prefix="/api/v1/rules", tags=["rules"])
View = Depends(requires(Permission.RULE_VIEW))
Write = Depends(requires(Permission.RULE_WRITE))
_MEDIA_TYPE = "application/json"


class RuleFileBody(RequestModel):
    """A rule as an export wrote it."""

    format: Literal["agentex.rule"] = Field(examples=[FORMAT])
    format_version: Literal[1] = Field(examples=[FORMAT_VERSION])
    rule: dict[str, JsonValue] = Field(examples=[EXAMPLE])
    sources: dict[str, JsonValue] = Field(
        default_factory=dict, description="Kind (`mcp`, `webhook`) and name of the rule's sources, by id."
    )


class MissingReferenceAnswer(ResponseModel):
    """What the rule names and is not there."""

    field: str
    value: str
    error: str
    error_zh: str


class RuleImported(ResponseModel):
    """The rule, unless it was a dry run. Where something is ``missing``, it is kept switched off."""

    rule: RuleDetail | None
    missing: list[MissingReferenceAnswer]


def _missing(entry: MissingReference) -> MissingReferenceAnswer:
    return MissingReferenceAnswer(field=entry.field, value=entry.value, error=entry.error, error_zh=entry.error_zh)


@router.post("/import", dependencies=[Write], responses=error_responses(RuleNameTaken, RulesFull))
async def import_rule(
    body: RuleFileBody,
    principal: CurrentPrincipal,
    context: CurrentContext,
    rules: Rules,
    dry_run: Annotated[bool, Query(description="Say what is missing, and store nothing")] = False,
    name: Annotated[Text | None, Query(min_length=1, max_length=LONGEST_NAME, description="Another name")] = None,
) -> Envelope[RuleImported]:
    """Keep a rule out of a file; sources are found by id, or by kind and name."""
    fields = body.rule if name is None else {**body.rule, "name": name}
    plan = await transfer.plan_import(rules.actions, principal, fields, body.sources)
    missing = [_missing(entry) for entry in plan.missing]
    if dry_run:
        return Envelope(data=RuleImported(rule=None, missing=missing))
    async with unit_of_work(context.database, context.queue.push) as work:
        row = await store.create(work, principal, plan.definition, draft=bool(missing))
        view = await access.get(work.session, principal, row.id)
    return Envelope(data=RuleImported(rule=rule_detail(view), missing=missing))


@router.get(
    "/{rule_id}/export",
    dependencies=[View],
    response_class=Response,
    responses={
        200: {"description": "The rule as a file", "content": {_MEDIA_TYPE: {"schema": {"type": "object"}}}},
        **error_responses(RuleNotFound),
    },
)
async def export_rule(rule_id: Text, principal: CurrentPrincipal, session: Reading) -> Response:
    """A rule as a file; it holds no secret."""
    row = (await access.get(session, principal, rule_id)).rule
    disposition = {"Content-Disposition": f'attachment; filename="rule-{row.id}.json"'}
    return Response(await transfer.export(session, row), media_type=_MEDIA_TYPE, headers=disposition)
