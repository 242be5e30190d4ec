"""The action that leaves a message for the rule's owner."""

import uuid
from dataclasses import dataclass
from typing import ClassVar

from pydantic import JsonValue

from core.db.unit_of_work import unit_of_work
from rules.actions.base import ActionCall, ActionFailed, ActionServices, Reason, text_of
from rules.models import Notification

LEVELS = ("info", "warning", "error")
_NAMESPACE = uuid.UUID("6a0b2c1e-6b5e-4a8f-9a39-58a5ff2f9d0d")
_TITLE, _TEXT = 200, 5000


@dataclass(frozen=True, slots=True)
class _NotificationText:
    level: str
    title: str
    text: str


class NotifyHandler:
    """Shows ``title`` and ``text`` in the console."""

    TYPE: ClassVar[str] = "notify"
    IS_REPEATABLE: ClassVar[bool] = True

    async def missing(self, services: ActionServices, call: ActionCall) -> list[Reason]:
        try:
            _message(call)
        except ActionFailed as failure:
            return [failure.reason]
        return []

    async def execute(self, services: ActionServices, call: ActionCall) -> JsonValue:
        message = _message(call)
        row = Notification(
            id=str(uuid.uuid5(_NAMESPACE, call.key)),
            owner_id=call.owner.user_id,
            rule_id=call.rule_id,
            firing_id=call.firing_id,
            level=message.level,
            title=message.title,
            text=message.text,
        )
        async with unit_of_work(services.database) as work:
            if await work.session.get(Notification, row.id) is None:
                work.session.add(row)
        return {"notification_id": row.id}


def _message(call: ActionCall) -> _NotificationText:
    level = str(call.params.get("level") or "info")
    if level not in LEVELS:
        allowed = ", ".join(LEVELS)
        raise ActionFailed(f"`params.level` must be one of {allowed}", f"`params.level` 必须是以下之一：{allowed}")
    return _NotificationText(
        level=level,
        title=text_of(call.params, "title", longest=_TITLE),
        text=text_of(call.params, "text", longest=_TEXT, default=""),
    )
