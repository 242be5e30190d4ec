"""What the caller's rules have to say to them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Query

from api.dependencies import CurrentPrincipal, Reading, Writing, paging, requires
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, Items, ResponseModel, Text, page_of
from api.http.routing import Router
from core.auth.permissions import Permission
from core.db.pagination import PageRequest
from core.errors.auth import NotificationNotFound
from core.errors.requests import InvalidPagination
from rules import notifications
from rules.models import Notification
from rules.notifications import SORT_FIELDS

router = Router(prefix="/api/v1/notifications", tags=["rules"], dependencies=[Depends(requires(Permission.RULE_VIEW))])
_ABSENT = error_responses(NotificationNotFound)


class NotificationAnswer(ResponseModel):
    """A message of a rule to its owner.

    Attributes:
        rule_name: null if the rule is gone.
        log_id: the entry of the rule's log that made it.
    """

    id: str
    rule_id: str | None
    rule_name: str | None
    log_id: str | None
    level: str
    title: str
    text: str
    created_at: datetime
    read_at: datetime | None


class NotificationItems(Items[NotificationAnswer]):
    """One page of notifications; ``unread`` counts all that were not read, whatever the filter."""

    unread: int


def _answer(row: Notification, rule_names: Mapping[str, str]) -> NotificationAnswer:
    rule_name = rule_names.get(row.rule_id or "")
    return NotificationAnswer.model_validate({**row.model_dump(), "rule_name": rule_name, "log_id": row.firing_id})


@router.get("", responses=error_responses(InvalidPagination))
async def list_notifications(
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*SORT_FIELDS))],
    unread: Annotated[bool, Query(description="Only those that were not read")] = False,
) -> Envelope[NotificationItems]:
    """One's own notifications, the newest first."""
    listing = await notifications.list_page(session, principal.user_id, page, unread_only=unread)
    names = await notifications.names_of_rules(session, principal.user_id, listing.items)
    items = page_of([_answer(row, names) for row in listing.items], page, total=listing.total).data
    return Envelope(data=NotificationItems(**items.__dict__, unread=listing.unread))


@router.put("/read")
async def read_all_notifications(principal: CurrentPrincipal, work: Writing) -> Empty:
    """Mark all of one's own notifications as read."""
    await notifications.mark_all_read(work, principal.user_id)
    return Empty()


@router.put("/{notification_id}/read", responses=_ABSENT)
async def read_notification(
    notification_id: Text, principal: CurrentPrincipal, work: Writing
) -> Envelope[NotificationAnswer]:
    """Mark a notification as read."""
    row = await notifications.mark_read(work, principal.user_id, notification_id)
    return Envelope(data=_answer(row, await notifications.names_of_rules(work.session, principal.user_id, [row])))


@router.delete("/{notification_id}", responses=_ABSENT)
async def delete_notification(notification_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Delete a notification."""
    await notifications.delete(work, principal.user_id, notification_id)
    return Empty()
