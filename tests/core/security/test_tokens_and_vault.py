"""Passwords, tokens, API keys and the vault."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import jwt
import pytest

from core.auth.api_keys import display_prefix, generate_api_key, hash_api_key
from core.db.types import utc_now
from core.errors.auth import InvalidToken, TokenExpired
from core.errors.requests import WeakPassword
from core.security import passwords
from core.security.jwt import TokenIssuer, generate_signing_key
from core.security.passwords import check_strength, hash_password, verify_password
from core.security.vault import SecretKeyMismatchError, Vault, load_secret_key
from core.settings import Settings

KEY, OTHER_KEY = generate_signing_key(), generate_signing_key()


@pytest.mark.anyio
async def test_password_is_hashed_with_argon2id_and_its_own_salt():
    first, second = await hash_password("Password123"), await hash_password("Password123")
    assert first != second
    assert first.startswith("$argon2id$")
    assert await verify_password("Password123", first)
    assert not await verify_password("password123", first)
    assert not await verify_password("", first)


@pytest.mark.anyio
async def test_unknown_user_costs_as_much_as_a_wrong_password():
    decoy = passwords._decoy  # pyright: ignore[reportPrivateUsage]
    # The same algorithm, version and cost, so the same time.
    assert decoy.split("$")[1:4] == (await hash_password("Password123")).split("$")[1:4]
    for stored in (None, ""):
        assert not await verify_password("no account has this password", stored)


@pytest.mark.parametrize(
    "password",
    ["abcdefg1", "密码密码密码密码1", "Password-", "        1a", "a1" * 128],
)
def test_password_that_meets_the_rules_is_taken(password: str):
    check_strength(password, username="zhangsan")


@pytest.mark.parametrize(
    "password",
    ["", "short1a", "onlyletters", "12345678", "12345678!", "a1" * 129, "ZhangSan1", "zhangsan1"],
)
def test_password_that_breaks_a_rule_is_refused_with_the_rule(password: str):
    with pytest.raises(WeakPassword) as error:
        check_strength(password, username="zhangsan1")
    assert error.value.details["field"] == "password"
    assert password not in str(error.value.details["error"]) or password == ""


def test_token_says_who_it_belongs_to():
    issuer = TokenIssuer(KEY, [KEY])
    token, issued = issuer.issue("access", user_id="u", family_id="f", seconds=60)
    claims = issuer.verify(token, "access")
    assert (claims.user_id, claims.family_id, claims.token_id) == ("u", "f", issued.token_id)
    assert abs(claims.expires_at - utc_now() - timedelta(seconds=60)) < timedelta(seconds=5)
    assert jwt.get_unverified_header(token)["alg"] == "RS256"


def test_every_token_is_another():
    issuer = TokenIssuer(KEY, [KEY])
    tokens = {issuer.issue("refresh", user_id="u", family_id="f", seconds=60)[0] for _ in range(5)}
    assert len(tokens) == 5


def test_token_of_an_older_key_stays_valid_and_of_an_unknown_key_is_not():
    old, new = TokenIssuer(OTHER_KEY, [OTHER_KEY]), TokenIssuer(KEY, [KEY, OTHER_KEY])
    token, _ = old.issue("access", user_id="u", family_id="f", seconds=60)
    assert new.verify(token, "access").user_id == "u"
    token, _ = new.issue("access", user_id="u", family_id="f", seconds=60)
    with pytest.raises(InvalidToken):
        old.verify(token, "access")


def test_token_of_the_other_type_is_refused():
    issuer = TokenIssuer(KEY, [KEY])
    for issued, wanted in (("access", "refresh"), ("refresh", "access")):
        token, _ = issuer.issue(issued, user_id="u", family_id="f", seconds=60)
        with pytest.raises(InvalidToken):
            issuer.verify(token, wanted)


def test_ended_token_is_told_from_an_invalid_one():
    issuer = TokenIssuer(KEY, [KEY])
    token, _ = issuer.issue("access", user_id="u", family_id="f", seconds=-61)
    with pytest.raises(TokenExpired):
        issuer.verify(token, "access")


def test_api_keys_are_long_random_and_kept_as_a_hash():
    keys = {generate_api_key() for _ in range(50)}
    assert len(keys) == 50
    for key in keys:
        assert key.startswith("sk-")
        assert len(key) >= 46
        assert key not in hash_api_key(key)
        assert len(hash_api_key(key)) == 64
        assert display_prefix(key) == f"sk-...{key[-3:]}"


def test_vault_gives_back_what_it_sealed():
    vault = Vault(b"secret", "purpose")
    for text in ("", "sk-provider-key", "密钥" * 1000):
        sealed = vault.encrypt(text)
        assert vault.decrypt(sealed) == text
        assert text == "" or text not in sealed
    assert vault.encrypt("same") != vault.encrypt("same")


@pytest.mark.parametrize("other", [Vault(b"other", "purpose"), Vault(b"secret", "else")])
def test_vault_of_another_key_or_purpose_reads_nothing(other: Vault):
    sealed = Vault(b"secret", "purpose").encrypt("text")
    with pytest.raises(SecretKeyMismatchError, match="AGENTEX_SECRET_KEY"):
        other.decrypt(sealed)
    with pytest.raises(SecretKeyMismatchError):
        other.decrypt(sealed[:-4] + "AAAA")


def test_secret_key_is_made_once_for_its_owner_alone(tmp_path: Path):
    settings = Settings(_env_file=None, data_dir=tmp_path / "data", secret_key=None)
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: load_secret_key(settings), range(16)))
    assert len(keys) == 1
    assert len(keys.pop()) >= 48
    files = list((tmp_path / "data").iterdir())
    assert [path.name for path in files] == ["secret-key"]
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_secret_key_and_its_name_reach_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    settings = Settings(_env_file=None, data_dir=tmp_path / "data", secret_key=None)
    file, synced = tmp_path / "data" / "secret-key", []
    sync = os.fsync

    def note(descriptor: int) -> None:
        what = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        synced.append((what, file.exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    load_secret_key(settings)
    # What is encrypted with it outlives a power cut: so must the key.
    assert synced == [("file", False), ("folder", True)]


def test_secret_key_of_the_settings_wins_and_writes_nothing(tmp_path: Path):
    settings = Settings(_env_file=None, data_dir=tmp_path / "data", secret_key="a real secret")
    assert load_secret_key(settings) == b"a real secret"
    assert not (tmp_path / "data").exists()
