"""Logins: registration, changes of passwords, and what ends with them."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import col, select

from core.auth.api_keys import ApiKeyDraft, create_api_key
from core.auth.authentication import Authenticator, change_password, check_password
from core.auth.models import TokenFamily, User
from core.auth.permissions import DEFAULT_ROLE
from core.auth.users import create_user, draft_user, ensure_roles, update_profile
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.auth import InvalidCredentials, InvalidToken
from core.errors.conflicts import UsernameTaken
from core.errors.requests import InvalidRequest
from core.security import passwords
from core.security.jwt import TokenIssuer, generate_signing_key

pytestmark = pytest.mark.anyio
PASSWORD = "Correct-horse-1"


async def register(database: Database, username: str, email: str) -> User:
    draft = await draft_user(username=username, email=email, password=PASSWORD)
    async with unit_of_work(database) as work:
        await ensure_roles(work.session)
        return await create_user(work.session, draft, role=DEFAULT_ROLE)


@pytest.mark.parametrize(
    "name",
    ["BOB@example.com", "ｂob@example.com", "newhire@example.com", "@bob", "bob@example.cᴏm"],
)
async def test_nobody_has_an_address_for_a_name_that_is_not_theirs(database, name: str):
    await register(database, "bob", "bob@example.com")
    with pytest.raises(InvalidRequest):
        await register(database, name, "mallory@example.com")
    mallory = await register(database, "mallory", "mallory@example.com")
    async with unit_of_work(database) as work:
        row = await work.session.get_one(User, mallory.id)
        with pytest.raises(InvalidRequest):
            await update_profile(work.session, row, username=name, avatar_url=None)
    found = await check_password(database, login="bob@example.com", password=PASSWORD)
    assert found.username == "bob"


async def test_address_that_reads_like_anothers_is_taken_as_a_name(database):
    await register(database, "bob", "bob@example.com")
    with pytest.raises(UsernameTaken):
        await register(database, "bob@example.cᴏm", "bob@example.cᴏm")


async def test_address_is_its_owners_whoever_has_it_for_a_name(database):
    # As it could be in an older version.
    mallory = await register(database, "mallory", "mallory@example.com")
    async with unit_of_work(database) as work:
        row = await work.session.get_one(User, mallory.id)
        row.username = row.username_key = "carol@example.com"
    carol = await register(database, "carol", "Carol@example.com")
    found = await check_password(database, login="carol@example.com", password=PASSWORD)
    assert found.id == carol.id


async def test_name_may_be_ones_own_address(database):
    user = await register(database, "dave@example.com", "dave@example.com")
    async with unit_of_work(database) as work:
        row = await work.session.get_one(User, user.id)
        await update_profile(work.session, row, username="dave", avatar_url=None)
        await update_profile(work.session, row, username="dave@example.com", avatar_url=None)
    assert (await check_password(database, login="dave@example.com", password=PASSWORD)).id == user.id


@pytest.mark.parametrize("name", ["аррӏе", "ᴀᴘᴘʟᴇ", "ａｐｐｌｅ", "APPLE"])
async def test_name_that_looks_like_anothers_is_taken(database, name: str):
    await register(database, "apple", "apple@example.com")
    with pytest.raises(UsernameTaken):
        await register(database, name, "mallory@example.com")
    mallory = await register(database, "mallory", "mallory@example.com")
    async with unit_of_work(database) as work:
        row = await work.session.get_one(User, mallory.id)
        with pytest.raises(UsernameTaken):
            await update_profile(work.session, row, username=name, avatar_url=None)


class CountedHasher:
    """Counts what takes long, with what it costs."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.work: list[str] = []

    def verify(self, password: str, known: str) -> bool:
        # Algorithm, version, and memory, passes and lanes: what a verification takes.
        self.work.append(known.rpartition("$")[0].rpartition("$")[0])
        return self.inner.verify(password, known)

    def hash(self, password: str) -> str:
        self.work.append("hash")
        return self.inner.hash(password)


async def test_same_work_is_done_whoever_is_named(database, monkeypatch: pytest.MonkeyPatch):
    user = await register(database, "erin", "erin@example.com")
    off = await register(database, "frank", "frank@example.com")
    async with unit_of_work(database) as work:
        (await work.session.get_one(User, off.id)).status = "disabled"
    hasher = CountedHasher(passwords._hasher)
    monkeypatch.setattr(passwords, "_hasher", hasher)
    for login in (
        "erin",
        "ERIN@example.com",
        "frank",
        "nobody",
        "nobody@example.com",
        "",
    ):
        with pytest.raises(InvalidCredentials):
            await check_password(database, login=login, password="Wrong-password1")
    assert len(hasher.work) == 6
    assert set(hasher.work) == {user.password_hash.rpartition("$")[0].rpartition("$")[0]}

    hasher.work.clear()
    for name in ("erin", "nobody-yet"):
        with suppress(UsernameTaken):
            await register(database, name, f"{name}@elsewhere.example.com")
    assert hasher.work == ["hash", "hash"]


async def test_login_by_the_old_password_does_not_outlive_its_change(database):
    key = generate_signing_key()
    authenticator = Authenticator(TokenIssuer(key, [key]), access_seconds=60, refresh_seconds=600)
    await register(database, "erin", "erin@example.com")
    checked = await check_password(database, login="erin", password=PASSWORD)

    async def change() -> None:
        async with unit_of_work(database) as work:
            row = await work.session.get_one(User, checked.id)
            await change_password(work.session, row, password_hash="new", keep_family_id=None)

    async with unit_of_work(database) as work:
        await authenticator.begin_login(work.session, checked)
        changing = asyncio.create_task(change())
        # It must not come through before this login can be seen and ended.
        done, _ = await asyncio.wait({changing}, timeout=0.5)
        assert not done
    await changing
    async with database.reading() as session:
        alive = select(TokenFamily.id).where(col(TokenFamily.revoked_at).is_(None))
        assert (await session.exec(alive)).all() == []
    async with unit_of_work(database) as work:
        with pytest.raises(InvalidCredentials):
            await authenticator.begin_login(work.session, checked)


async def test_login_that_ends_meanwhile_makes_no_key(database):
    key = generate_signing_key()
    authenticator = Authenticator(TokenIssuer(key, [key]), access_seconds=60, refresh_seconds=600)
    user = await register(database, "fay", "fay@example.com")
    async with unit_of_work(database) as work:
        _, tokens = await authenticator.begin_login(work.session, user)
    principal = await authenticator.principal_of_token(database, tokens.access_token)

    async def make() -> None:
        async with unit_of_work(database) as work:
            await create_api_key(work.session, principal, ApiKeyDraft("late"))

    async with unit_of_work(database) as work:
        row = await work.session.get_one(User, user.id)
        await change_password(work.session, row, password_hash="new", keep_family_id=None)
        await work.session.flush()
        making = asyncio.create_task(make())
        await asyncio.wait({making}, timeout=0.2)
    with pytest.raises(InvalidToken):
        await making


async def test_ended_logins_are_forgotten_at_the_next_one(database):
    key = generate_signing_key()
    authenticator = Authenticator(TokenIssuer(key, [key]), access_seconds=60, refresh_seconds=600)
    frank, _ = [await register(database, name, f"{name}@example.com") for name in ("frank", "grace")]

    async def log_in(name: str) -> None:
        checked = await check_password(database, login=name, password=PASSWORD)
        async with unit_of_work(database) as work:
            await authenticator.begin_login(work.session, checked)

    for name in ("frank", "frank", "grace"):
        await log_in(name)
    async with unit_of_work(database) as work:
        families = (await work.session.exec(select(TokenFamily))).all()
        living = next(family.id for family in families if family.user_id == frank.id)
        for family in families:
            if family.id != living:
                family.expires_at = utc_now() - timedelta(seconds=1)
    await log_in("frank")
    async with database.reading() as session:
        kept = (await session.exec(select(TokenFamily.user_id))).all()
    # His living and his new one; hers goes at her own next login.
    assert (len(kept), kept.count(frank.id)) == (3, 2)
