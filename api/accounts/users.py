"""The caller's account and API keys (docs/reference/agentex-api.md, section 3)."""

from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request
from pydantic import Field
from sqlmodel.ext.asyncio.session import AsyncSession

from api.accounts.schemas import ApiKeyAnswer, key_page
from api.dependencies import CurrentDatabase, CurrentPrincipal, Reading, Security, Writing, paging
from api.http.errors import error_responses
from api.http.rate_limit import client_address
from api.http.responses import Empty, Envelope, Items, RequestModel, ResponseModel, Secret, Text
from api.http.routing import Router
from core.audit.log import AuditAction, AuditTarget, audit
from core.auth import api_keys, users
from core.auth.authentication import change_password
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.database import Database
from core.db.pagination import PageRequest
from core.db.unit_of_work import unit_of_work
from core.errors.auth import ApiKeyNotFound, InvalidCredentials
from core.errors.conflicts import ApiKeysFull, UsernameTaken
from core.errors.requests import InvalidPagination, TooManyLogins, TooManyRequests, WeakPassword
from core.security.passwords import check_strength, hash_password, verify_password
from core.types.datetimes import Moment

router = Router(prefix="/api/v1/users/me", tags=["users"])


class RoleAnswer(ResponseModel):
    """A role as its bearer sees it."""

    id: str
    name: str
    display_name: str


class AccountSettings(ResponseModel):
    """What an account has set; ``timezone`` counts where nobody says another one."""

    timezone: str | None


class AccountAnswer(ResponseModel):
    """One's own account."""

    id: str
    username: str
    email: str
    avatar_url: str | None
    role: RoleAnswer
    permissions: list[str]
    settings: AccountSettings
    use_memories: bool
    remember_after_runs: bool
    created_at: datetime


class AccountSettingsBody(RequestModel):
    """Settings to change; what is left out stays, an empty text unsets."""

    timezone: Text | None = Field(default=None, max_length=64, examples=["Asia/Shanghai"])


class ProfileBody(RequestModel):
    """What may be changed; what is left out stays."""

    username: Text | None = Field(default=None, max_length=200, examples=["zhangsan_new"])
    avatar_url: Text | None = Field(default=None, max_length=2000)
    settings: AccountSettingsBody | None = None
    use_memories: bool | None = Field(default=None, description="Whether agents may recall and save long-term memories")
    remember_after_runs: bool | None = Field(
        default=None, description="Whether facts about you are noted after each run"
    )


class PasswordBody(RequestModel):
    """The present password and the new one."""

    old_password: Secret = Field(max_length=1000)
    new_password: Secret = Field(max_length=1000)


class ApiKeyBody(RequestModel):
    """A name to tell keys apart, and what bounds the key."""

    name: Text = Field(min_length=1, max_length=100, examples=["生产环境"])
    scopes: list[Permission] | None = Field(
        default=None,
        max_length=len(Permission),
        description="The only permissions that the key has; left out, all of the account",
        examples=[["kb:view", "agent:run"]],
    )
    expires_at: Moment | None = Field(default=None, description="When the key ends; left out, never")


class NewApiKey(ResponseModel):
    """A new key; ``key`` is shown this once."""

    id: str
    name: str
    key: str
    scopes: list[str] | None
    expires_at: datetime | None
    created_at: datetime


async def _account(source: Database | AsyncSession, principal: Principal) -> AccountAnswer:
    account = await users.read_own_account(source, principal.user_id)
    return AccountAnswer(
        id=account.id,
        username=account.username,
        email=account.email,
        avatar_url=account.avatar_url,
        role=RoleAnswer(id=account.role_id, name=account.role_name, display_name=account.role_display_name),
        permissions=sorted(principal.permissions),
        settings=AccountSettings(timezone=account.time_zone),
        use_memories=account.use_memories,
        remember_after_runs=account.remember_after_runs,
        created_at=account.created_at,
    )


@router.get("")
async def read_me(principal: CurrentPrincipal, database: CurrentDatabase) -> Envelope[AccountAnswer]:
    """One's own account, role and permissions."""
    return Envelope(data=await _account(database, principal))


@router.put("", responses=error_responses(UsernameTaken))
async def change_me(body: ProfileBody, principal: CurrentPrincipal, work: Writing) -> Envelope[AccountAnswer]:
    """Change one's name, picture or settings, or what may be remembered."""
    principal.require_whole()
    user = await users.get_user(work.session, principal.user_id)
    await users.update_profile(work.session, user, username=body.username, avatar_url=body.avatar_url)
    if body.settings is not None and body.settings.timezone is not None:
        users.set_time_zone(work.session, user, body.settings.timezone)
    users.set_memory_choices(work.session, user, use=body.use_memories, remember_after_runs=body.remember_after_runs)
    return Envelope(data=await _account(work.session, principal))


@router.put("/password", responses=error_responses(InvalidCredentials, WeakPassword, TooManyRequests, TooManyLogins))
async def change_my_password(
    body: PasswordBody, request: Request, principal: CurrentPrincipal, database: CurrentDatabase, security: Security
) -> Empty:
    """Change one's password; all other logins end."""
    principal.require_whole()
    async with database.reading() as session:
        before = await users.get_user(session, principal.user_id)
    # Hashes take long: no transaction is open while they are made.
    async with security.login_throttle.attempt(before.username, client_address(request.scope)):
        if not await verify_password(body.old_password, before.password_hash):
            raise InvalidCredentials(field="old_password")
    check_strength(body.new_password, username=before.username)
    password_hash = await hash_password(body.new_password)
    async with unit_of_work(database) as work:
        user = await users.get_user(work.session, principal.user_id)
        if user.password_hash != before.password_hash:
            raise InvalidCredentials(field="old_password")
        await change_password(work.session, user, password_hash=password_hash, keep_family_id=principal.family_id)
        target = AuditTarget("user", user.id, user.username)
        audit(work.session, AuditAction.PASSWORD_CHANGED, target)
    return Empty()


@router.get("/api-keys", responses=error_responses(InvalidPagination))
async def list_my_api_keys(
    principal: CurrentPrincipal, session: Reading, page: Annotated[PageRequest, Depends(paging(*api_keys.SORT_FIELDS))]
) -> Envelope[Items[ApiKeyAnswer]]:
    """One page of one's own API keys, without the keys themselves."""
    return key_page(await api_keys.list_api_keys(session, principal.user_id, page), page)


@router.post("/api-keys", responses=error_responses(ApiKeysFull))
async def create_my_api_key(body: ApiKeyBody, principal: CurrentPrincipal, work: Writing) -> Envelope[NewApiKey]:
    """Make an API key; this answer is the only one that shows it.

    Nobody makes a key with more than they have: one with scopes makes none, and one that is made with
    a key ends no later than that one, and with it when that one is revoked.
    """
    draft = api_keys.ApiKeyDraft(body.name, body.scopes, body.expires_at)
    row, key = await api_keys.create_api_key(work.session, principal, draft)
    return Envelope(
        data=NewApiKey(
            id=row.id, name=row.name, key=key, scopes=row.scopes, expires_at=row.expires_at, created_at=row.created_at
        )
    )


@router.delete("/api-keys/{key_id}", responses=error_responses(ApiKeyNotFound))
async def revoke_my_api_key(key_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Revoke an API key; it stops working at once, and its open streams end within seconds."""
    await api_keys.revoke_api_key(work.session, principal, key_id)
    return Empty()
