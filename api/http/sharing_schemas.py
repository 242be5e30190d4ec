"""Shares in requests and answers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

from pydantic import Field, model_validator

from api.http.responses import Envelope, RequestModel, ResponseModel, Text
from core.auth.models import Role, User
from core.auth.principal import Access
from core.auth.sharing import MAX_SHARES, ShareEntry, ShareSpec, share_list_version
from core.types.errors import FieldValueError


class SharedUser(ResponseModel):
    """A person whom something is shared with."""

    id: str
    username: str

    @classmethod
    def of(cls, row: User | None) -> Self | None:
        return None if row is None else cls(id=row.id, username=row.username)


class SharedRole(ResponseModel):
    """A role whose bearers something is shared with."""

    name: str
    display_name: str

    @classmethod
    def of(cls, row: Role | None) -> Self | None:
        return None if row is None else cls(name=row.name, display_name=row.display_name)


class ShareAnswer(ResponseModel):
    """A person or a role, and how far: ``read`` or ``write``."""

    user: SharedUser | None
    role: SharedRole | None
    access: Access
    created_at: datetime


class ShareList(ResponseModel):
    """All with whom something is shared."""

    items: list[ShareAnswer]
    total: int
    version: str


class SubjectBody(RequestModel):
    """A person, by id or by user name, or a role, by its name."""

    user_id: Text | None = Field(default=None, max_length=100)
    username: Text | None = Field(default=None, max_length=200, examples=["zhangsan"])
    role: Text | None = Field(default=None, max_length=50)

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if sum(name is not None for name in (self.user_id, self.username, self.role)) != 1:
            zh = "请给出 user_id、username 和 role 之一"
            raise FieldValueError("Name one of user_id, username and role", zh)
        return self


class ShareBody(SubjectBody):
    """Somebody and how far."""

    access: Literal["read", "write"] = "read"

    def to_spec(self) -> ShareSpec:
        return ShareSpec(Access(self.access), self.user_id, self.username, self.role)


class SharesBody(RequestModel):
    """Everyone with whom it is to be shared; whoever is left out loses it at once."""

    shares: list[ShareBody] = Field(max_length=MAX_SHARES)
    version: Text | None = Field(
        default=None, max_length=100, description="Of the list as it was read; refused if it changed"
    )

    def to_specs(self) -> list[ShareSpec]:
        return [share.to_spec() for share in self.shares]


def shares_answer(shares: Sequence[ShareEntry]) -> Envelope[ShareList]:
    """A list of shares as an answer."""
    items = [
        ShareAnswer(
            user=SharedUser.of(share.user), role=SharedRole.of(share.role), access=share.access, created_at=share.since
        )
        for share in shares
    ]
    version = share_list_version(shares)
    return Envelope(data=ShareList(items=items, total=len(items), version=version))
