"""The table of images attached to messages: here, as one quota counts all files of a person."""

from datetime import datetime

from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now


class Attachment(Table, table=True):
    """An image as it was taken in; its bytes are in the object store.

    ``stored_at`` is set once they are, ``session_id`` once a run used it, and ``deleted_at`` when
    its session went: then the sweep removes file and row.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", max_length=ID_LENGTH, index=True)
    session_id: str | None = Field(
        default=None,
        foreign_key="chat_session.id",
        ondelete="SET NULL",
        max_length=ID_LENGTH,
        index=True,
    )
    storage_key: str = Field(max_length=100, unique=True)
    mime_type: str = Field(max_length=50)
    size: int
    width: int
    height: int
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime, index=True)
    stored_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    deleted_at: datetime | None = Field(default=None, sa_type=UtcDateTime, index=True)
