"""Administration of other people's accounts (docs/reference/agentex-api.md, section 4)."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal, Self

from fastapi import Depends, Query
from pydantic import Field

from agents.accounts import deletion
from agents.accounts.deletion import DeletionMode, DeletionResult
from api.dependencies import CurrentDatabase, CurrentPrincipal, Reading, Writing, paging, requires
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, Items, RequestModel, ResponseModel, Secret, Text, page_of
from api.http.routing import Router
from core.auth import user_admin
from core.auth.models import Role, User, UserStatus
from core.auth.permissions import Permission
from core.auth.roles import effective_permissions
from core.auth.user_admin import AccessLimit, UserChange, UserFilter
from core.auth.users import draft_user
from core.db.pagination import PageRequest
from core.db.unit_of_work import unit_of_work
from core.errors.auth import PermissionDenied, UserNotFound
from core.errors.conflicts import EmailTaken, LastAdministrator, UsernameTaken, UserOwnsThings
from core.errors.requests import InvalidPagination, InvalidRequest, WeakPassword
from core.security.passwords import check_strength, hash_password

router = Router(prefix="/api/v1/admin/users", tags=["administration"])
Manage = Depends(requires(Permission.USERS_MANAGE))
_MOST_IDS = 1000
_Id = Annotated[Text, Field(min_length=1, max_length=200)]
_Ids = Annotated[list[_Id], Field(max_length=_MOST_IDS)]
# What every change of an account that is there may be answered with.
_CHANGE_REFUSALS = (InvalidRequest, PermissionDenied, UserNotFound)
_Status = Literal[UserStatus.ACTIVE, UserStatus.DISABLED]


class UserRoleAnswer(ResponseModel):
    """A role as an account shows it."""

    id: str
    name: str
    display_name: str


class UserAnswer(ResponseModel):
    """An account as lists show it; ``email_verified``: an administrator or the identity provider vouches for its address."""

    id: str
    username: str
    email: str
    email_verified: bool
    avatar_url: str | None
    role: UserRoleAnswer
    status: str
    last_login_at: datetime | None
    created_at: datetime


class CustomPermissions(ResponseModel):
    """What an account may do beside its role, or may not do in spite of it."""

    grants: list[str]
    revokes: list[str]


class WholeUserAnswer(UserAnswer):
    """An account with its rights; ``permissions`` is what comes of them all."""

    permissions: list[str]
    custom_permissions: CustomPermissions
    model_access: list[str] | None
    mcp_access: list[str] | None


class NewUserBody(RequestModel):
    """An account for somebody; without a role it gets that of those who register."""

    username: Text = Field(max_length=200, examples=["lisi"])
    email: Text = Field(max_length=300, examples=["lisi@example.com"])
    password: Secret = Field(max_length=1000, examples=["InitialPassword123"])
    role_id: _Id | None = None


class CustomPermissionsBody(RequestModel):
    """Names of permissions; each list that is given replaces the one before."""

    grants: _Ids | None = Field(default=None, examples=[["mcp:create"]])
    revokes: _Ids | None = Field(default=None, examples=[["kb:write"]])


class UserChangeBody(RequestModel):
    """What may be set; what is left out stays as it is."""

    role_id: _Id | None = None
    status: _Status | None = None
    custom_permissions: CustomPermissionsBody | None = None
    model_access: _Ids | None = Field(
        default=None, description="The only models the account may use; null lifts the limit"
    )
    mcp_access: _Ids | None = Field(
        default=None, description="The only MCP connections it may use; null lifts the limit"
    )
    email_verified: bool | None = Field(
        default=None,
        description="Whether you vouch that the address is theirs: what sources let the address read is then for them",
    )

    def change(self) -> UserChange:
        custom, fields_set = self.custom_permissions, self.model_fields_set
        return UserChange(
            role_id=self.role_id,
            status=self.status,
            grants=None if custom is None else custom.grants,
            revokes=None if custom is None else custom.revokes,
            model_access=AccessLimit(self.model_access) if "model_access" in fields_set else None,
            mcp_access=AccessLimit(self.mcp_access) if "mcp_access" in fields_set else None,
            email_verified=self.email_verified,
        )


class PasswordResetBody(RequestModel):
    """A new password for somebody else's account."""

    new_password: Secret = Field(max_length=1000)
    revoke_api_keys: bool = Field(default=False, description="Whether the account's API keys are deleted, too")


class TransferredThings(ResponseModel):
    """How many things the heir owns now."""

    knowledge_bases: int
    documents: int
    skills: int


class ErasedThings(TransferredThings):
    """How many things are erased."""

    sessions: int
    memories: int
    calendar_events: int
    images: int
    api_keys: int


class DeletedUser(ResponseModel):
    """An account that is deleted, and what became of what it owned."""

    id: str
    username: str
    transferred_to: str | None
    transferred: TransferredThings
    erased: ErasedThings

    @classmethod
    def of(cls, result: DeletionResult) -> Self:
        counts = asdict(result.owned) | {"api_keys": result.api_keys}
        nothing = {"knowledge_bases": 0, "documents": 0, "skills": 0}
        is_handed_over = result.heir_id is not None
        return cls(
            id=result.user_id,
            username=result.username,
            transferred_to=result.heir_id,
            transferred=TransferredThings.model_validate(counts if is_handed_over else nothing),
            erased=ErasedThings.model_validate(counts | nothing if is_handed_over else counts),
        )


def _answer(user: User, role: Role) -> UserAnswer:
    return UserAnswer(
        id=user.id,
        username=user.username,
        email=user.email,
        email_verified=user.email_verified,
        avatar_url=user.avatar_url,
        role=UserRoleAnswer(id=role.id, name=role.name, display_name=role.display_name),
        status=user.status,
        last_login_at=user.last_login_at,
        created_at=user.created_at,
    )


def _whole(user: User, role: Role) -> Envelope[WholeUserAnswer]:
    return Envelope(
        data=WholeUserAnswer(
            **_answer(user, role).model_dump(),
            permissions=sorted(effective_permissions(user, role)),
            custom_permissions=CustomPermissions(grants=user.granted, revokes=user.revoked),
            model_access=user.model_access,
            mcp_access=user.mcp_access,
        )
    )


async def _user_filter(
    search: Annotated[Text | None, Field(max_length=300)] = None,
    role_id: Annotated[Text | None, Field(max_length=200)] = None,
    status: _Status | None = None,
) -> UserFilter:
    return UserFilter(search, role_id, status)


async def _deletion_mode(
    transfer_to: Annotated[
        Text | None, Query(max_length=200, description="Id of the account that takes over knowledge bases")
    ] = None,
    erase: Annotated[bool, Query(description="Erase everything that the account owns")] = False,
) -> DeletionMode:
    return DeletionMode(transfer_to, erase)


@router.get("", dependencies=[Manage], responses=error_responses(InvalidRequest, InvalidPagination))
async def list_users(
    principal: CurrentPrincipal,
    session: Reading,
    filters: Annotated[UserFilter, Depends(_user_filter)],
    page: Annotated[PageRequest, Depends(paging(*user_admin.SORT_FIELDS))],
) -> Envelope[Items[UserAnswer]]:
    """All accounts; `search` looks in user names and e-mail addresses."""
    listing = await user_admin.list_users(session, filters, page)
    items = [_answer(user, role) for user, role in listing.items]
    return page_of(items, page, total=listing.total)


@router.post(
    "", dependencies=[Manage], responses=error_responses(InvalidRequest, WeakPassword, UsernameTaken, EmailTaken)
)
async def create_user(
    body: NewUserBody, principal: CurrentPrincipal, database: CurrentDatabase
) -> Envelope[WholeUserAnswer]:
    """Make an account for somebody; nobody gives a role that allows more than their own."""
    draft = await draft_user(username=body.username, email=body.email, password=body.password)
    async with unit_of_work(database) as work:
        account = await user_admin.add_user(work.session, principal, draft, role_id=body.role_id)
    return _whole(*account)


@router.get("/{user_id}", dependencies=[Manage], responses=error_responses(UserNotFound))
async def read_user(user_id: Text, principal: CurrentPrincipal, session: Reading) -> Envelope[WholeUserAnswer]:
    """One account with its rights."""
    return _whole(*await user_admin.find_account(session, user_id))


@router.put("/{user_id}", dependencies=[Manage], responses=error_responses(*_CHANGE_REFUSALS, LastAdministrator))
async def change_user(
    user_id: Text, body: UserChangeBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[WholeUserAnswer]:
    """Change an account's role, status or rights; it counts from its next request on."""
    result = await user_admin.change_user(work.session, principal, user_id, body.change())
    return _whole(*result)


@router.delete(
    "/{user_id}", dependencies=[Manage], responses=error_responses(*_CHANGE_REFUSALS, LastAdministrator, UserOwnsThings)
)
async def delete_user(
    user_id: Text, mode: Annotated[DeletionMode, Depends(_deletion_mode)], principal: CurrentPrincipal, work: Writing
) -> Envelope[DeletedUser]:
    """Delete an account; the answer says what became of what it owned.

    Without `transfer_to` and `erase` an account that owns anything stays.
    """
    result = await deletion.delete_account(work, principal, user_id, mode)
    return Envelope(data=DeletedUser.of(result))


@router.put("/{user_id}/password", dependencies=[Manage], responses=error_responses(*_CHANGE_REFUSALS, WeakPassword))
async def reset_password(
    user_id: Text, body: PasswordResetBody, principal: CurrentPrincipal, database: CurrentDatabase
) -> Empty:
    """Give an account another password; all its logins end."""
    async with database.reading() as session:
        user, _ = await user_admin.find_account(session, user_id)
    check_strength(body.new_password, username=user.username)
    # Hashes take long: no transaction is open while they are made.
    password_hash = await hash_password(body.new_password)
    async with unit_of_work(database) as work:
        await user_admin.reset_password(
            work.session, principal, user_id, password_hash=password_hash, revoke_api_keys=body.revoke_api_keys
        )
    return Empty()
