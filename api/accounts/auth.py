"""Register, login, refresh, logout (docs/reference/agentex-api.md, section 2)."""

from datetime import datetime
from typing import Literal

from fastapi import Request
from pydantic import Field

from api.dependencies import CurrentDatabase, CurrentPrincipal, CurrentSettings, Security, Writing
from api.http.errors import error_responses
from api.http.rate_limit import client_address
from api.http.responses import Empty, Envelope, RequestModel, ResponseModel, Secret, Text
from api.http.routing import Router
from core.audit.context import Actor
from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.authentication import IssuedTokens, audit_failed_login, check_password, revoke_family
from core.auth.models import Role, User
from core.auth.permissions import DEFAULT_ROLE
from core.auth.users import create_user, draft_user, get_role
from core.db.unit_of_work import unit_of_work
from core.errors.auth import (
    AccountDisabled,
    InvalidCredentials,
    InvalidToken,
    NotAuthenticated,
    RegistrationDisabled,
    TokenExpired,
    TokenReused,
)
from core.errors.conflicts import EmailTaken, UsernameTaken
from core.errors.requests import InvalidRequest, TooManyLogins, TooManyRequests, WeakPassword

router = Router(prefix="/api/v1/auth", tags=["auth"])


class RegisterBody(RequestModel):
    """A new account."""

    username: Text = Field(max_length=200, examples=["zhangsan"])
    email: Text = Field(max_length=300, examples=["zhangsan@example.com"])
    password: Secret = Field(max_length=1000, examples=["Password123"])


class LoginBody(RequestModel):
    """User name or e-mail address, and password."""

    username: Text = Field(max_length=300, examples=["zhangsan"])
    password: Secret = Field(max_length=1000, examples=["Password123"])


class RefreshBody(RequestModel):
    """The refresh token of the last login or refresh."""

    refresh_token: Secret = Field(max_length=10_000)


class RegisteredUser(ResponseModel):
    """An account that was just made."""

    id: str
    username: str
    email: str
    role: str
    created_at: datetime


class LoggedInUser(ResponseModel):
    """Whose tokens these are."""

    id: str
    username: str
    email: str
    role: str
    avatar_url: str | None


class TokenPair(ResponseModel):
    """Tokens; ``expires_in`` is the access token's life in seconds."""

    access_token: str
    refresh_token: str
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105 - the scheme, not a secret
    expires_in: int


class LoginAnswer(TokenPair):
    """Tokens and the account they belong to."""

    user: LoggedInUser


@router.post(
    "/register",
    responses=error_responses(InvalidRequest, WeakPassword, RegistrationDisabled, UsernameTaken, EmailTaken),
)
async def register(
    body: RegisterBody, request: Request, database: CurrentDatabase, security: Security, settings: CurrentSettings
) -> Envelope[RegisteredUser]:
    """Make an account with the default role."""
    if not settings.registration_enabled:
        raise RegistrationDisabled
    await security.login_throttle.register(client_address(request.scope))
    draft = await draft_user(username=body.username, email=body.email, password=body.password)
    async with unit_of_work(database) as work:
        user = await create_user(work.session, draft, role=DEFAULT_ROLE)
        target, actor = AuditTarget("user", user.id, user.username), Actor(user.id, user.username)
        audit(work.session, AuditAction.USER_CREATED, target, actor=actor)
    return Envelope(
        data=RegisteredUser(
            id=user.id, username=user.username, email=user.email, role=DEFAULT_ROLE, created_at=user.created_at
        )
    )


@router.post(
    "/login",
    responses=error_responses(InvalidRequest, InvalidCredentials, AccountDisabled, TooManyRequests, TooManyLogins),
)
async def login(
    body: LoginBody, request: Request, database: CurrentDatabase, security: Security
) -> Envelope[LoginAnswer]:
    """Exchange a password for tokens; after many wrong ones, 42902 says when to come again."""
    throttle, address = security.login_throttle, client_address(request.scope)
    try:
        async with throttle.attempt(body.username, address):
            checked = await check_password(database, login=body.username, password=body.password)
        async with unit_of_work(database) as work:
            user, tokens = await security.authenticator.begin_login(work.session, checked)
            role = await get_role(work.session, user.role_id)
    except (InvalidCredentials, AccountDisabled):
        await audit_failed_login(database, body.username)
        raise
    return Envelope(data=login_answer(user, role, tokens))


def login_answer(user: User, role: Role, tokens: IssuedTokens) -> LoginAnswer:
    """The answer to any kind of successful login."""
    return LoginAnswer(
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token,
        expires_in=tokens.expires_in,
        user=LoggedInUser(
            id=user.id, username=user.username, email=user.email, role=role.name, avatar_url=user.avatar_url
        ),
    )


@router.post("/refresh", responses=error_responses(InvalidRequest, InvalidToken, TokenExpired, TokenReused))
async def refresh(body: RefreshBody, database: CurrentDatabase, security: Security) -> Envelope[TokenPair]:
    """Exchange a refresh token for a new pair; a second use ends the whole login."""
    async with unit_of_work(database) as work:
        outcome = await security.authenticator.refresh(work.session, body.refresh_token)
    if isinstance(outcome, TokenReused):
        raise outcome
    return Envelope(data=_pair(outcome))


def _pair(tokens: IssuedTokens) -> TokenPair:
    return TokenPair(access_token=tokens.access_token, refresh_token=tokens.refresh_token, expires_in=tokens.expires_in)


@router.post("/logout", responses=error_responses(NotAuthenticated))
async def logout(principal: CurrentPrincipal, work: Writing) -> Empty:
    """End this login; its tokens stop working at once. An API key has nothing to end."""
    if principal.family_id is not None:
        await revoke_family(work.session, principal.family_id)
    return Empty()
