"""The caller's rules (docs/reference/agentex-api.md, section 10)."""

from typing import Annotated

from fastapi import Depends, Query

from api.dependencies import CurrentPrincipal, Reading, Writing, paging, requires
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, Items, Text, page_of
from api.http.routing import Router
from api.rules.schemas import RuleBody, RuleChangeBody, RuleDetail, RuleEnabledBody, RuleItem, rule_detail, rule_item
from core.auth.permissions import Permission
from core.db.pagination import PageRequest
from core.errors.auth import EventSourceNotFound, McpConnectionNotFound, OwnerOnly, ReadOnly, RuleNotFound
from core.errors.conflicts import Conflict, RuleNameTaken, RulesFull
from core.errors.requests import InvalidPagination
from rules import access, store
from rules.access import SORT_FIELDS, RuleFilter
from rules.models import LONGEST_EVENT_TYPE
from rules.store import MOST_RULES

router = Router(prefix="/api/v1/rules", tags=["rules"])
View = Depends(requires(Permission.RULE_VIEW))
Write = Depends(requires(Permission.RULE_WRITE))
_ABSENT = RuleNotFound
_NOT_OWN = (ReadOnly, OwnerOnly)
_REFERENCES = (EventSourceNotFound, McpConnectionNotFound)


async def _filter(
    enabled: Annotated[bool | None, Query(description="Only rules that are switched on, or off")] = None,
    event_type: Annotated[Text | None, Query(max_length=LONGEST_EVENT_TYPE)] = None,
    source_id: Annotated[Text | None, Query(max_length=40, description="An MCP connection or event source")] = None,
    q: Annotated[Text, Query(max_length=200, description="Part of a name, description or event type")] = "",
    owned: Annotated[bool | None, Query(description="Only one's own rules, or only those of others")] = None,
) -> RuleFilter:
    return RuleFilter(enabled, event_type, source_id, q.strip(), owned)


@router.get("", dependencies=[View], responses=error_responses(InvalidPagination))
async def list_rules(
    principal: CurrentPrincipal,
    session: Reading,
    filters: Annotated[RuleFilter, Depends(_filter)],
    page: Annotated[PageRequest, Depends(paging(*SORT_FIELDS))],
) -> Envelope[Items[RuleItem]]:
    """One's own rules, and those shared with the caller."""
    listing = await access.list_page(session, principal, filters, page)
    return page_of([rule_item(view) for view in listing.items], page, total=listing.total)


@router.post(
    "",
    dependencies=[Write],
    responses=error_responses(*_REFERENCES, RuleNameTaken, RulesFull),
    description=f"Keep a rule; up to {MOST_RULES}. It acts as its owner.",
)
async def create_rule(body: RuleBody, principal: CurrentPrincipal, work: Writing) -> Envelope[RuleDetail]:
    """Keep a rule."""
    row = await store.create(work, principal, body)
    return Envelope(data=rule_detail(await access.get(work.session, principal, row.id)))


@router.get("/{rule_id}", dependencies=[View], responses=error_responses(_ABSENT))
async def read_rule(rule_id: Text, principal: CurrentPrincipal, session: Reading) -> Envelope[RuleDetail]:
    """One rule."""
    return Envelope(data=rule_detail(await access.get(session, principal, rule_id)))


@router.put(
    "/{rule_id}",
    dependencies=[Write],
    responses=error_responses(_ABSENT, *_NOT_OWN, *_REFERENCES, RuleNameTaken, Conflict),
)
async def change_rule(
    rule_id: Text, body: RuleChangeBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[RuleDetail]:
    """Change a rule; another definition is a new version."""
    row = await store.update(work, principal, rule_id, body.changes(), version=body.version)
    return Envelope(data=rule_detail(await access.get(work.session, principal, row.id)))


@router.delete("/{rule_id}", dependencies=[Write], responses=error_responses(_ABSENT, *_NOT_OWN))
async def delete_rule(rule_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Delete a rule with its versions, its log and its shares."""
    await store.delete(work, principal, rule_id)
    return Empty()


@router.put("/{rule_id}/enabled", dependencies=[Write], responses=error_responses(_ABSENT, ReadOnly, *_REFERENCES))
async def switch_rule(
    rule_id: Text, body: RuleEnabledBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[RuleDetail]:
    """Switch a rule on or off; it needs ``write`` access to a rule of somebody else's."""
    await store.set_enabled(work, principal, rule_id, enabled=body.enabled)
    return Envelope(data=rule_detail(await access.get(work.session, principal, rule_id)))
