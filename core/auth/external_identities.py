"""Accounts of people from an identity provider, linked by issuer and subject, never by name."""

import re
import secrets
import unicodedata
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue
from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.context import Actor
from core.audit.log import AuditAction, audit
from core.auth.authentication import ACTIVE, end_logins
from core.auth.locks import lock_admins
from core.auth.models import ApiKey, OidcIdentity, User
from core.auth.permissions import DEFAULT_ROLE, Permission
from core.auth.roles import effective_permissions
from core.auth.user_admin import adopt_role, user_target
from core.auth.users import UserDraft, clean_email, create_user, find_user_by_email, get_role
from core.errors.auth import AccountDisabled, RegistrationDisabled
from core.errors.conflicts import EmailTaken, UsernameTaken
from core.errors.oidc import OidcEmailRefused, OidcEmailTaken
from core.errors.requests import InvalidRequest
from core.oidc.claims import Identity
from core.settings import Settings
from core.text.confusables import fold, looks_like_id, mixes_alphabets

# No hash looks like this, so no password matches.
NO_PASSWORD = ""
_NOT_IN_NAMES = re.compile(r"[^\w.@+-]+")
_LONGEST_NAME = 50
_NUMBERED_NAMES = 9
_WORTH_MORE_THAN_AN_ADDRESS = {Permission.USERS_MANAGE, Permission.SYSTEM_MANAGE, Permission.MODELS_MANAGE}

RevokeOldAccess = Callable[[AsyncSession, str], Awaitable[None]]
"""Ends, for an account's id, what else its former holder could act or listen by."""


@dataclass(frozen=True)
class SignInPolicy:
    """The operator's rules for people from the provider.

    Args:
        may_register: whether unknown people get an account.
        link_by_email: whether a verified address opens the account that has it.
        email_domains: allowed domains; empty for all.
        roles: role by group, the first match counts; None if roles are managed in Agentex.
    """

    may_register: bool
    link_by_email: bool = False
    email_domains: tuple[str, ...] = ()
    roles: Mapping[str, str] | None = None


def sign_in_policy(settings: Settings) -> SignInPolicy:
    """The policy of the current settings."""
    own = settings.oidc_registration_enabled
    return SignInPolicy(
        may_register=settings.registration_enabled if own is None else own,
        link_by_email=settings.oidc_link_by_email,
        email_domains=settings.oidc_email_domains,
        roles=settings.oidc_roles or None,
    )


async def get_or_create_account(
    session: AsyncSession, identity: Identity, policy: SignInPolicy, close_back_doors: RevokeOldAccess
) -> User:
    """The account of a person from the provider, created if necessary.

    Args:
        close_back_doors: revokes old access to an account whose address was never proven.
    """
    _require_domain(identity, policy)
    query = select(OidcIdentity).where(OidcIdentity.issuer == identity.issuer, OidcIdentity.subject == identity.subject)
    link = (await session.exec(query)).first()
    user = await session.get(User, link.user_id) if link is not None else None
    if user is None:
        user = await _linked(session, identity, policy)
        if user is not None:
            await close_back_doors(session, user.id)
    user = user or await _new(session, identity, policy)
    if user.status != ACTIVE:
        raise AccountDisabled
    if identity.email_verified and identity.email and fold(identity.email.strip()) == user.email_key:
        user.email_verified = True
        session.add(user)
    if policy.roles is not None:
        groups = set(identity.groups)
        fitting = (role for group, role in policy.roles.items() if group in groups)
        await adopt_role(session, user, next(fitting, DEFAULT_ROLE))
    return user


def _require_domain(identity: Identity, policy: SignInPolicy) -> None:
    if not policy.email_domains:
        return
    if not identity.email or not identity.email_verified:
        raise OidcEmailRefused("not_verified")
    if identity.email.rpartition("@")[2].lower() not in policy.email_domains:
        raise OidcEmailRefused("domain")


async def _linked(session: AsyncSession, identity: Identity, policy: SignInPolicy) -> User | None:
    """The account with the person's verified address, if the operator allows linking.

    The account's previous owner never proved the address: their access is revoked, or an account
    made in advance under a foreign address would stay a back door. Accounts that manage people,
    models or the system are never linked: an address must not be worth that much.
    """
    if not (policy.link_by_email and identity.email_verified and identity.email):
        return None
    # Before the account's row: the same lock order as in administration.
    await lock_admins(session)
    query = select(User).where(User.email_key == fold(identity.email.strip()))
    user = (await session.exec(query.with_for_update())).first()
    if user is None or user.status != ACTIVE:
        return None
    others = select(OidcIdentity.id).where(OidcIdentity.user_id == user.id)
    permissions = effective_permissions(user, await get_role(session, user.role_id))
    if (await session.exec(others)).first() or permissions & _WORTH_MORE_THAN_AN_ADDRESS:
        return None
    user.password_hash = NO_PASSWORD
    await end_logins(session, user.id)
    keys = await session.exec(delete(ApiKey).where(col(ApiKey.user_id) == user.id))
    return _link(session, user, identity, {"by_email": True, "keys_revoked": keys.rowcount})


async def _new(session: AsyncSession, identity: Identity, policy: SignInPolicy) -> User:
    # First, so that refused people don't learn which addresses have accounts.
    if not policy.may_register:
        raise RegistrationDisabled
    try:
        email = clean_email(identity.email or "")
    except InvalidRequest as error:
        raise OidcEmailRefused("missing") from error
    if await find_user_by_email(session, email) is not None:
        raise OidcEmailTaken
    for name in _names(identity.username or email.partition("@")[0]):
        try:
            draft = UserDraft(name, email, NO_PASSWORD)
            user = await create_user(session, draft, role=DEFAULT_ROLE, email_verified=identity.email_verified)
        except UsernameTaken:
            continue
        except EmailTaken as error:
            # Created since the check, possibly by a parallel first sign-in of the same person.
            raise OidcEmailTaken from error
        details: dict[str, JsonValue] = {"role": DEFAULT_ROLE, "issuer": identity.issuer}
        actor = Actor(user.id, user.username)
        audit(session, AuditAction.USER_CREATED, user_target(user), actor=actor, details=details)
        return _link(session, user, identity)
    raise UsernameTaken(field="username")


def _link(session: AsyncSession, user: User, identity: Identity, ended: Mapping[str, JsonValue] | None = None) -> User:
    row = OidcIdentity(user_id=user.id, issuer=identity.issuer, subject=identity.subject)
    session.add_all([user, row])
    details: dict[str, JsonValue] = {"issuer": identity.issuer, **(ended or {})}
    actor = Actor(user.id, user.username)
    audit(session, AuditAction.IDENTITY_LINKED, user_target(user), actor=actor, details=details)
    return user


def _names(preferred: str) -> Iterator[str]:
    """Candidate user names: the preferred one, then with suffixes."""
    plain = _NOT_IN_NAMES.sub("-", unicodedata.normalize("NFKC", preferred)).strip("-.")
    is_refused = mixes_alphabets(plain) or looks_like_id(plain)
    is_usable = len(plain) > 1 and not is_refused
    base = plain[:_LONGEST_NAME] if is_usable else "user"
    yield base
    yield from (f"{base}-{number}" for number in range(2, _NUMBERED_NAMES + 1))
    yield f"{base}-{secrets.token_hex(6)}"
