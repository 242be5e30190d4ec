"""The published signing keys (JWKS), before and after a rotation."""

import asyncio

import jwt

from cli.rotate_signing_key import rotate
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.product.server import Server


def published(server: Server) -> dict[str, jwt.PyJWK]:
    answer = server.http.get("/.well-known/jwks.json")
    assert answer.status_code == 200
    assert "max-age" in answer.headers["Cache-Control"]
    # No private half, whatever it is called.
    assert {name for key in answer.json()["keys"] for name in key} == {
        "kid", "kty", "use", "alg", "n", "e",
    }  # fmt: skip
    return {key.key_id or "": key for key in jwt.PyJWKSet.from_dict(answer.json()).keys}


def claims(server: Server, caller: Api) -> dict[str, object]:
    """What another service reads in a token, with nothing but what is published."""
    key = published(server)[jwt.get_unverified_header(caller.access_token)["kid"]]
    return jwt.decode(caller.access_token, key, ["RS256"], audience="agentex-api", issuer="agentex")


def test_published_keys_check_tokens_also_after_a_rotation(server: Server):
    caller = server.api().register()
    assert claims(server, caller)["sub"] == caller.user_id
    asyncio.run(rotate(server.settings, end_logins=False))
    before = len(server.sql("SELECT id FROM stored_signing_key"))
    assert before >= 2
    # The running process finds it by itself, and what it signed before stays valid.
    eventually(lambda: len(published(server)) == before, what="the new key is published")
    assert claims(server, caller)["sid"]
    assert caller.get("/users/me")["id"] == caller.user_id
    assert server.api().log_in(caller.name).get("/users/me")["id"] == caller.user_id
