"""The login beside writers: its slow part holds no transaction."""

import asyncio
from types import SimpleNamespace

import pytest

from api.accounts.auth import LoginBody, login
from core.auth import authentication
from core.auth.authentication import Authenticator
from core.auth.login_throttle import LoginThrottle
from core.auth.models import User
from core.auth.permissions import DEFAULT_ROLE
from core.auth.users import create_user, draft_user, ensure_roles, update_profile
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.security.jwt import TokenIssuer, generate_signing_key
from core.security.rate_limiter import LocalRateLimiter
from core.settings.http import AccessSettings

pytestmark = pytest.mark.anyio
PASSWORD = "Correct-horse-1"


async def test_writers_do_not_wait_for_logins_whose_hashes_are_being_made(
    database: Database, monkeypatch: pytest.MonkeyPatch
):
    key = generate_signing_key()
    authenticator = Authenticator(TokenIssuer(key, [key]), access_seconds=60, refresh_seconds=600)
    draft = await draft_user(username="heidi", email="heidi@example.com", password=PASSWORD)
    async with unit_of_work(database) as work:
        await ensure_roles(work.session)
        user = await create_user(work.session, draft, role=DEFAULT_ROLE)
    begun, allowed = asyncio.Event(), asyncio.Event()
    inner = authentication.verify_password

    async def held_up(password: str, stored: str | None) -> bool:
        begun.set()
        await allowed.wait()
        return await inner(password, stored)

    monkeypatch.setattr(authentication, "verify_password", held_up)
    throttle = LoginThrottle(LocalRateLimiter(), AccessSettings())
    security = SimpleNamespace(authenticator=authenticator, login_throttle=throttle)
    request = SimpleNamespace(scope={})
    body = LoginBody(username="heidi", password=PASSWORD)
    logins = [asyncio.create_task(login(body, request, database, security)) for _ in range(3)]
    await begun.wait()
    # Where a login holds the only write turn of SQLite, this is refused after a while.
    async with unit_of_work(database) as work:
        row = await work.session.get_one(User, user.id)
        await update_profile(work.session, row, username=None, avatar_url="https://a.example/b")
    assert not any(one.done() for one in logins)
    allowed.set()
    answers = await asyncio.gather(*logins)
    assert all(answer.data.access_token for answer in answers)
