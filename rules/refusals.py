"""Events that a source sent and that could not be kept: counted, and shown to their owner."""

from dataclasses import dataclass
from datetime import date

from agents.mcp.models import McpConnection
from core.db.types import new_id, utc_now
from core.db.unit_of_work import UnitOfWork
from core.text.sanitize import plain_line
from rules.models import Notification

_LONGEST_NAME = 100
_LONGEST_REASON = 500


@dataclass
class Refusals:
    """The events of a connection that were left out today, as one notification whose number grows."""

    day: date | None = None
    notification_id: str = ""
    total: int = 0
    last_total: int = 0
    reason: str = ""

    def count(self, reason: str) -> None:
        """Count an event that was left out."""
        today = utc_now().date()
        if self.day != today:
            self.day, self.notification_id, self.total, self.last_total = today, new_id(), 0, 0
        self.total += 1
        self.reason = reason

    async def show(self, work: UnitOfWork, connection: McpConnection) -> None:
        """Leave the owner a message, or bring the one of today up to date."""
        if self.total == self.last_total:
            return
        row = await work.session.get(Notification, self.notification_id)
        row = row or Notification(
            id=self.notification_id, owner_id=connection.owner_id, level="warning", title="", created_at=utc_now()
        )
        name, noun = plain_line(connection.name)[:_LONGEST_NAME], "event" if self.total == 1 else "events"
        row.title = f"{name}: {self.total} {noun} left out · {self.total} 个事件未被接受"
        row.text = plain_line(self.reason)[:_LONGEST_REASON]
        row.read_at = None
        work.session.add(row)

    def settle(self) -> None:
        """Take what was shown as shown, after its commit."""
        self.last_total = self.total
