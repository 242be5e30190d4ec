"""Accounts: creation, lookup and changes by their owner."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import bindparam, or_
from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import Select

from core.auth.models import Role, User
from core.auth.permissions import BUILT_IN_ROLES
from core.db.database import Database
from core.errors.auth import UserNotFound
from core.errors.conflicts import EmailTaken, UsernameTaken
from core.errors.requests import InvalidRequest
from core.security.passwords import check_strength, hash_password
from core.text.confusables import fold, looks_like_id, mixes_alphabets, name_key
from core.time_zones import find_zone

_USERNAME = re.compile(r"[\w.@+-]{2,64}")
_EMAIL = re.compile(r"[^@\s\x00-\x1f]{1,64}@[^@\s\x00-\x1f.]+(?:\.[^@\s\x00-\x1f.]+)+")
_EMAIL_LENGTH = 254


def clean_username(username: str) -> str:
    """A user name in its stored form.

    It has 2 to 64 letters, digits or ``. @ + - _`` of alphabets that look alike, and is no id.
    """
    name = unicodedata.normalize("NFKC", username).strip()
    if not _USERNAME.fullmatch(name):
        raise InvalidRequest("username", "Use 2 to 64 letters, digits or . @ + - _")
    if mixes_alphabets(name):
        raise InvalidRequest("username", "Use the letters of one alphabet")
    if looks_like_id(name):
        raise InvalidRequest("username", "Use a name that does not look like an id")
    return name


def clean_email(email: str) -> str:
    """An e-mail address in its stored form."""
    address = email.strip()
    # Folding can make it longer.
    if max(len(address), len(fold(address))) > _EMAIL_LENGTH or not _EMAIL.fullmatch(address):
        raise InvalidRequest("email", "Invalid email format")
    return address


@dataclass(frozen=True)
class UserDraft:
    """A checked account to create, with its password hashed."""

    username: str
    email: str
    password_hash: str


async def draft_user(*, username: str, email: str, password: str) -> UserDraft:
    """Check the fields of a new account; the hash takes long, so no transaction should be open."""
    name, address = clean_username(username), clean_email(email)
    _require_own_address(name, address)
    check_strength(password, username=name)
    return UserDraft(name, address, await hash_password(password))


async def create_user(session: AsyncSession, draft: UserDraft, *, role: str, email_verified: bool = False) -> User:
    """Add an account; ``email_verified`` if somebody trusted vouches for its address."""
    await _require_free(session, username=draft.username, email=draft.email)
    user = User(
        username=draft.username,
        username_key=name_key(draft.username),
        email=draft.email,
        email_key=fold(draft.email),
        email_verified=email_verified,
        password_hash=draft.password_hash,
        role_id=(await get_role_by_name(session, role)).id,
    )
    try:
        async with session.begin_nested():
            session.add(user)
    except IntegrityError:
        # Somebody took it since the check: the same error as otherwise.
        await _require_free(session, username=draft.username, email=draft.email)
        raise
    return user


async def _require_free(session: AsyncSession, *, username: str | None = None, email: str | None = None) -> None:
    """Refuse what another account logs in by: a name may be, or look like, an address."""
    if username is not None:
        key = name_key(username)
        is_taken = or_(col(User.username_key) == key, col(User.email_key).in_({fold(username), key}))
        if (await session.exec(select(User.id).where(is_taken))).first() is not None:
            raise UsernameTaken(field="username")
    if email is not None and await find_user_by_email(session, email) is not None:
        raise EmailTaken(field="email")


def _require_own_address(username: str, email: str) -> None:
    """Refuse a name that looks like an address but is not the account's own: it would pass for the address's owner."""
    if "@" in username and fold(username) != fold(email):
        raise InvalidRequest("username", "A name with @ has to be your own e-mail address")


async def get_user(session: AsyncSession, user_id: str) -> User:
    """Load an account."""
    user = await session.get(User, user_id)
    if user is None:
        raise UserNotFound
    return user


class OwnAccount(NamedTuple):
    """An account as its owner sees it, with its role; in the order of ``_own_account``."""

    id: str
    username: str
    email: str
    avatar_url: str | None
    time_zone: str | None
    use_memories: bool
    remember_after_runs: bool
    created_at: datetime
    role_id: str
    role_name: str
    role_display_name: str


async def read_own_account(source: Database | AsyncSession, user_id: str) -> OwnAccount:
    """An account for its owner: as stored, or with a session's changes."""
    parameters = {"user_id": user_id}
    if isinstance(source, Database):
        row = await source.look_up(lambda reads: reads.connection.execute(_own_account(), parameters).first())
    else:
        row = (await source.exec(_own_account(), params=parameters)).first()
    if row is None:
        raise UserNotFound
    return OwnAccount(*row)


@cache
def _own_account() -> Select[*tuple[Any, ...]]:
    columns = (
        col(User.id),
        col(User.username),
        col(User.email),
        col(User.avatar_url),
        col(User.time_zone),
        col(User.use_memories),
        col(User.remember_after_runs),
        col(User.created_at),
        col(Role.id),
        col(Role.name),
        col(Role.display_name),
    )
    rows = Select[*tuple[Any, ...]](*columns).join(Role, col(Role.id) == col(User.role_id))
    return rows.where(col(User.id) == bindparam("user_id"))


async def find_user_by_login(session: AsyncSession, login: str) -> User | None:
    """The account with this user name or e-mail address; the owner of an address comes before a name that equals it."""
    by_address = await find_user_by_email(session, login) if "@" in login else None
    if by_address is not None:
        return by_address
    by_name = select(User).where(User.username_key == name_key(login.strip()))
    return (await session.exec(by_name)).first()


async def find_user_by_email(session: AsyncSession, email: str) -> User | None:
    """The account with this e-mail address."""
    by_email = select(User).where(User.email_key == fold(email.strip()))
    return (await session.exec(by_email)).first()


async def find_usernames(session: AsyncSession, ids: Sequence[str]) -> dict[str, str]:
    """User names by account id; accounts that are gone are absent."""
    query = select(User.id, User.username).where(col(User.id).in_(set(ids)))
    return dict((await session.exec(query)).all())


async def update_profile(session: AsyncSession, user: User, *, username: str | None, avatar_url: str | None) -> User:
    """Change a user's own name or picture (docs/reference/agentex-api.md, section 3.2); None leaves a field."""
    if username is not None and clean_username(username) != user.username:
        name = clean_username(username)
        _require_own_address(name, user.email)
        if name_key(name) != user.username_key and fold(name) != user.email_key:
            await _require_free(session, username=name)
        user.username, user.username_key = name, name_key(name)
    if avatar_url is not None:
        if avatar_url and not avatar_url.startswith(("https://", "http://")):
            raise InvalidRequest("avatar_url", "Use an http or https address")
        user.avatar_url = avatar_url or None
    session.add(user)
    return user


def set_time_zone(session: AsyncSession, user: User, name: str) -> User:
    """Set the default time zone, an IANA name; empty unsets it."""
    if name and find_zone(name) is None:
        raise InvalidRequest("settings.timezone", "Use an IANA time zone such as Asia/Shanghai or Europe/Berlin")
    user.time_zone = name or None
    session.add(user)
    return user


@dataclass(frozen=True)
class MemoryChoices:
    """An account's choices about long-term memory.

    Args:
        use: runs get its memories, and may add to them on request.
        remember_after_runs: finished runs are searched for things to remember.
    """

    use: bool
    remember_after_runs: bool


async def get_memory_choices(session: AsyncSession, user_id: str) -> MemoryChoices:
    """An account's choices; all off for an unknown account."""
    query = select(User.use_memories, User.remember_after_runs).where(User.id == user_id)
    choices = (await session.exec(query)).first()
    return MemoryChoices(*choices) if choices is not None else MemoryChoices(False, False)


def set_memory_choices(
    session: AsyncSession, user: User, *, use: bool | None, remember_after_runs: bool | None
) -> None:
    """Change an account's choices; None leaves one unchanged."""
    if use is not None:
        user.use_memories = use
    if remember_after_runs is not None:
        user.remember_after_runs = remember_after_runs
    session.add(user)


async def get_role(session: AsyncSession, role_id: str) -> Role:
    """Load the role of an account."""
    return (await session.exec(select(Role).where(Role.id == role_id))).one()


async def get_role_by_name(session: AsyncSession, name: str) -> Role:
    """Load a role by its name."""
    return (await session.exec(select(Role).where(Role.name == name))).one()


async def ensure_roles(session: AsyncSession) -> None:
    """Create the built-in roles, or update their permissions."""
    stored = {role.name: role for role in (await session.exec(select(Role))).all()}
    for built_in in BUILT_IN_ROLES:
        role = stored.get(built_in.name) or Role(
            name=built_in.name, display_name=built_in.display_name, permissions=[], built_in=True
        )
        role.permissions = [permission.value for permission in built_in.permissions]
        session.add(role)
    await session.flush()
