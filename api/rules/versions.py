"""Earlier versions of rules."""

from datetime import datetime
from typing import Annotated

from fastapi import Depends
from pydantic import JsonValue

from api.dependencies import CurrentPrincipal, Reading, Writing, paging, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, Items, ResponseModel, Text, page_of
from api.http.routing import Router
from api.rules.schemas import RuleDetail, rule_detail
from core.auth.permissions import Permission
from core.db.pagination import PageRequest
from core.errors.auth import (
    EventSourceNotFound,
    McpConnectionNotFound,
    OwnerOnly,
    ReadOnly,
    RuleNotFound,
    RuleVersionNotFound,
)
from core.errors.conflicts import RuleNameTaken
from core.errors.requests import InvalidPagination
from rules import access, store
from rules.models import RuleVersion
from rules.store import MOST_VERSIONS

router = Router(prefix="/api/v1/rules/{rule_id}/versions", tags=["rules"])
View = Depends(requires(Permission.RULE_VIEW))
Write = Depends(requires(Permission.RULE_WRITE))
_MOST_DIGITS = 9


class RuleVersionAnswer(ResponseModel):
    """A rule as it was saved."""

    version: int
    definition: dict[str, JsonValue]
    created_at: datetime


def _answer(row: RuleVersion) -> RuleVersionAnswer:
    return RuleVersionAnswer.model_validate(row.model_dump())


@router.get(
    "",
    dependencies=[View],
    responses=error_responses(RuleNotFound, InvalidPagination),
    description=f"A rule's versions, the newest first; {MOST_VERSIONS} are kept.",
)
async def list_rule_versions(
    rule_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging("version"))],
) -> Envelope[Items[RuleVersionAnswer]]:
    """A rule's versions."""
    rule = (await access.get(session, principal, rule_id)).rule
    listing = await store.list_versions(session, rule.id, page)
    return page_of([_answer(row) for row in listing.items], page, total=listing.total)


@router.post(
    "/{version}/restore",
    dependencies=[Write],
    responses=error_responses(
        RuleNotFound,
        ReadOnly,
        OwnerOnly,
        RuleVersionNotFound,
        EventSourceNotFound,
        McpConnectionNotFound,
        RuleNameTaken,
    ),
)
async def restore_rule_version(
    rule_id: Text, version: Text, principal: CurrentPrincipal, work: Writing
) -> Envelope[RuleDetail]:
    """Give a rule an earlier definition, as a new version; it stays switched on or off."""
    row = await store.restore(work, principal, rule_id, _read_number(version))
    return Envelope(data=rule_detail(await access.get(work.session, principal, row.id)))


def _read_number(version: str) -> int:
    """A version's number; 0, which no version has, for what is none: whose rule it is must not show."""
    is_number = version.isascii() and version.isdecimal() and len(version) <= _MOST_DIGITS
    return int(version) if is_number else 0
