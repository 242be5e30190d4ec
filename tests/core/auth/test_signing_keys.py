"""Rotation of the keys that sign tokens."""

from datetime import timedelta

import jwt
import pytest
from sqlmodel import col, select

from core.auth.authentication import active_principals
from core.auth.models import StoredSigningKey, TokenFamily
from core.auth.principal import Principal
from core.auth.signing_keys import SigningKeys, ensure_signing_key, rotate_signing_key
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.auth import InvalidToken
from core.security.jwt import TokenIssuer
from core.security.vault import Vault
from tests.fixtures.database.rows import add_user

pytestmark = pytest.mark.anyio
VAULT = Vault(b"secret", "signing-keys")
TOKEN_SECONDS = 3600


@pytest.fixture
async def first(database: Database) -> str:
    async with unit_of_work(database) as work:
        await ensure_signing_key(work.session, VAULT)
        await ensure_signing_key(work.session, VAULT)
    (key_id,) = await stored(database)
    return key_id


async def stored(database: Database) -> list[str]:
    async with database.reading() as session:
        by_age = col(StoredSigningKey.created_at)
        return list((await session.exec(select(StoredSigningKey.id).order_by(by_age))).all())


async def rotate(database: Database, *, end_logins: bool = False) -> str:
    async with unit_of_work(database) as work:
        return await rotate_signing_key(work.session, VAULT, token_seconds=TOKEN_SECONDS, end_logins=end_logins)


async def look(database: Database, keys: SigningKeys) -> TokenIssuer:
    async with database.reading() as session:
        return await keys.issuer(session)


async def living(database: Database, family_ids: list[str]) -> dict[str, Principal]:
    async with database.reading() as session:
        return await active_principals(session, family_ids=family_ids, key_ids=[])


async def pass_time(database: Database, seconds: float) -> None:
    """Put the keys so far into the past."""
    async with unit_of_work(database) as work:
        for row in (await work.session.exec(select(StoredSigningKey))).all():
            row.created_at -= timedelta(seconds=seconds)
            if row.retired_at is not None:
                row.retired_at -= timedelta(seconds=seconds)


def signed(issuer: TokenIssuer) -> tuple[str, str]:
    """A token, and the id of the key that signed it."""
    token, _ = issuer.issue("access", user_id="u", family_id="f", seconds=60)
    return token, jwt.get_unverified_header(token)["kid"]


async def test_new_key_is_known_before_it_signs_and_the_old_one_until_its_tokens_end(database: Database, first: str):
    keys = SigningKeys(VAULT)
    old_token, signer = signed(await look(database, keys))
    assert signer == first
    second = await rotate(database)
    issuer = await look(database, keys)
    assert set(issuer.public_numbers()) == {first, second}
    assert signed(issuer)[1] == first
    await pass_time(database, 61)
    issuer = await look(database, keys)
    new_token, signer = signed(issuer)
    assert signer == second
    for token in (old_token, new_token):
        assert issuer.verify(token, "access").user_id == "u"
    # What the last token of the old key lives for is over.
    await pass_time(database, TOKEN_SECONDS + 60)
    issuer = await look(database, keys)
    assert set(issuer.public_numbers()) == {second}
    with pytest.raises(InvalidToken):
        issuer.verify(old_token, "access")
    third = await rotate(database)
    assert await stored(database) == [second, third]


async def test_key_in_wrong_hands_is_worth_nothing_at_the_next_look(database: Database, first: str):
    keys = SigningKeys(VAULT)
    await rotate(database)
    old_token, _ = signed(await look(database, keys))
    async with unit_of_work(database) as work:
        user = await add_user(work)
        ends = (utc_now() + timedelta(hours=1), utc_now() - timedelta(hours=1))
        families = [TokenFamily(user_id=user.id, current_token_id="", expires_at=end) for end in ends]
        work.session.add_all(families)
    family_ids = [family.id for family in families]
    assert list(await living(database, family_ids)) == family_ids[:1]
    only = await rotate(database, end_logins=True)
    # Streams ask the logins, not their tokens.
    assert await living(database, family_ids) == {}
    assert await stored(database) == [only]
    issuer = await look(database, keys)
    assert signed(issuer)[1] == only
    with pytest.raises(InvalidToken):
        issuer.verify(old_token, "access")


async def test_same_keys_give_the_same_issuer(database: Database, first: str):
    keys = SigningKeys(VAULT)
    # Reading a private key takes long, and every few seconds one process looks.
    assert await look(database, keys) is await look(database, keys)


async def test_two_rotations_in_one_minute_leave_the_first_key_signing(database: Database, first: str):
    await pass_time(database, 61)
    second, third = await rotate(database), await rotate(database)
    issuer = await look(database, SigningKeys(VAULT))
    assert signed(issuer)[1] == first
    assert set(issuer.public_numbers()) == {first, second, third}
    assert (await stored(database))[0] == first
