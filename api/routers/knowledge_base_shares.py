"""With whom a knowledge base is shared."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field, model_validator

from api.dependencies import CurrentPrincipal, Reading, Writing, requires
from api.envelope import Body, Envelope, Text
from api.errors import error_responses
from core.accounts.access import Access
from core.accounts.models import Role, User
from core.accounts.permissions import Permission
from core.accounts.sharing import MOST_SHARES, Shared, Wanted
from core.errors import ErrorCode
from kb_service import sharing

router = APIRouter(prefix="/api/v1/knowledge-bases/{kb_id}/shares", tags=["knowledge bases"])
View = Depends(requires(Permission.KB_VIEW))
Write = Depends(requires(Permission.KB_WRITE))
_MISSING = (ErrorCode.READ_ONLY, ErrorCode.OWNER_ONLY, ErrorCode.KNOWLEDGE_BASE_NOT_FOUND)


class SharedUser(BaseModel):
    """A person whom something is shared with."""

    id: str
    username: str

    @classmethod
    def of(cls, row: User | None) -> Self | None:
        """A row as an answer."""
        return None if row is None else cls(id=row.id, username=row.username)


class SharedRole(BaseModel):
    """A role whose bearers something is shared with."""

    name: str
    display_name: str

    @classmethod
    def of(cls, row: Role | None) -> Self | None:
        """A row as an answer."""
        return None if row is None else cls(name=row.name, display_name=row.display_name)


class ShareAnswer(BaseModel):
    """A person or a role, and how far: ``read`` or ``write``."""

    user: SharedUser | None
    role: SharedRole | None
    access: Access
    created_at: datetime


class ShareList(BaseModel):
    """All with whom a knowledge base is shared."""

    items: list[ShareAnswer]
    total: int
    version: str


class SubjectBody(Body):
    """A person, by id or by user name, or a role, by its name."""

    user_id: Text | None = Field(default=None, max_length=100)
    username: Text | None = Field(default=None, max_length=200, examples=["zhangsan"])
    role: Text | None = Field(default=None, max_length=50)

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if sum(name is not None for name in (self.user_id, self.username, self.role)) != 1:
            raise ValueError("Name one of user_id, username and role")
        return self


class ShareBody(SubjectBody):
    """Somebody and how far."""

    access: Literal["read", "write"] = "read"

    def wanted(self) -> Wanted:
        """The same in the domain's terms."""
        return Wanted(Access(self.access), self.user_id, self.username, self.role)


class SharesBody(Body):
    """Everyone with whom it is to be shared; whoever is left out loses it at once."""

    shares: list[ShareBody] = Field(max_length=MOST_SHARES)
    version: Text | None = Field(
        default=None,
        max_length=100,
        description="Of the list as it was read; refused if it changed",
    )


def _answer(shares: Sequence[Shared]) -> Envelope[ShareList]:
    items = [
        ShareAnswer(
            user=SharedUser.of(one.user),
            role=SharedRole.of(one.role),
            access=one.access,
            created_at=one.since,
        )
        for one in shares
    ]
    version = sharing.version_of(shares)
    return Envelope(data=ShareList(items=items, total=len(items), version=version))


@router.get("", dependencies=[View], responses=error_responses(*_MISSING))
async def list_shares(
    kb_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[ShareList]:
    """With whom one's own knowledge base is shared."""
    return _answer(await sharing.shares_of(session, principal, kb_id))


@router.put(
    "",
    dependencies=[Write],
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.CONFLICT, *_MISSING),
)
async def replace_shares(
    kb_id: Text, body: SharesBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[ShareList]:
    """Share one's own knowledge base with exactly these people and roles.

    ``read`` lets them search it, read its documents and ask agents about it; ``write`` lets them
    change what is in it and its settings too. Sharing and deleting it stay its owner's.
    """
    wanted = [one.wanted() for one in body.shares]
    return _answer(await sharing.share(work, principal, kb_id, wanted, body.version))
