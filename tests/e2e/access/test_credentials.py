"""Credentials: nothing is served without one, and none can be forged."""

import base64
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from core.errors.auth import EventRefused, InvalidToken, NotAuthenticated, TokenExpired
from core.errors.base import AgentexError
from core.errors.oidc import OidcStateInvalid
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api, check_error
from tests.fixtures.http.forged_tokens import TokenForger, encode
from tests.fixtures.http.multipart import connection, head, read_status
from tests.fixtures.product.server import Server, one_shape

OPEN = {
    "GET /",
    "GET /healthz",
    "GET /readyz",
    "GET /.well-known/jwks.json",
    "POST /api/v1/auth/login",
    "POST /api/v1/auth/refresh",
    "POST /api/v1/auth/register",
    "GET /api/v1/auth/oidc",
    "GET /api/v1/auth/oidc/login",
    "GET /api/v1/auth/oidc/callback",
    "POST /api/v1/auth/oidc/token",
    # A token or signature in the link is the credential.
    "GET /api/v1/agent/attachments/{attachment_id}/content",
    "GET /api/v1/calendar/feed.ics",
    # An authorization server reads who Agentex is.
    "GET /api/v1/mcp/oauth/client-metadata",
    # The signature of an event is its credential.
    "POST /api/v1/rules/events/{source_id}",
}


def operations(server: Server) -> dict[str, dict[str, Any]]:
    document = server.http.get("/openapi.json").json()
    return {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_every_operation_but_the_documented_open_ones_needs_a_credential(server: Server):
    described = operations(server)
    assert {name for name, one in described.items() if one.get("security") == []} <= OPEN
    for name in described:
        method, _, path = name.partition(" ")
        answer = server.http.request(method, path.replace("{", "").replace("}", ""))
        if name in OPEN:
            # A redirect to the identity provider, or none while that is away.
            is_known = answer.status_code in {200, 302, 400, 502, 503}
            refusals = {OidcStateInvalid.code, EventRefused.code}
            assert is_known or answer.json()["code"] in refusals, name
            continue
        check_error(answer, NotAuthenticated)
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_credential_is_checked_before_the_body_is_read(server: Server):
    host = f"{server.settings.host}:{server.settings.port}"
    for name in operations(server):
        method, _, path = name.partition(" ")
        if name in OPEN:
            continue
        headers = {"Host": host, "Content-Length": "104857600", "Content-Type": "application/json"}
        with connection(server) as link:
            link.sendall(head(method, path.replace("{", "").replace("}", ""), headers))
            assert read_status(link) == 401, name


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic dXNlcjpwYXNz"},
        {"Authorization": "Token abc"},
        {"X-API-Key": ""},
        {"Cookie": "access_token=abc"},
        {"Host": "healthz"},
        {"Host": "localhost/healthz?"},
        {"X-Original-URL": "/healthz"},
        {"X-Forwarded-User": "admin"},
        {"X-HTTP-Method-Override": "GET"},
    ],
)
def test_missing_or_unknown_credentials_are_refused(server: Server, headers: dict[str, str]):
    answer = server.api(**headers).request("GET", "/users/me")
    if answer.status_code != 400 or "Host" not in headers:
        check_error(answer, NotAuthenticated)


@one_shape
@pytest.mark.parametrize(
    "path",
    ["/api/v1/users/me/", "//api/v1/users/me", "/api/v1/auth/login/../../users/me",
     "/healthz/../api/v1/users/me", "/healthz%2f..%2fapi/v1/users/me", "/API/v1/users/me",
     "/docs/oauth2-redirect", "/docs/assets/../../api/v1/users/me", "/api/v1/users/me;a=b",
     "/api/v1/users/me?x=/healthz", "/redoc", "/metrics"],
)  # fmt: skip
def test_spelling_of_a_path_opens_nothing(server: Server, path: str):
    host = f"{server.settings.host}:{server.settings.port}"
    with connection(server) as link:
        link.sendall(head("GET", path, {"Host": host}))
        assert read_status(link) in {400, 401, 404}


@pytest.mark.parametrize("key", ["sk-", "sk-nonsense", "sk-" + "x" * 43, "sk-' OR 1=1 --", "sk-é"])
def test_made_up_api_keys_are_not_valid(server: Server, key: str):
    for header, value in (("X-API-Key", key), ("Authorization", f"Bearer {key}")):
        answer = server.http.get("/api/v1/users/me", headers={header: value.encode()})
        check_error(answer, InvalidToken)


def test_api_key_in_the_query_is_no_credential(server: Server, user: Api):
    key = user.post("/users/me/api-keys", {"name": "k"})["key"]
    for name in ("api_key", "key", "access_token", "X-API-Key"):
        answer = server.api().request("GET", "/users/me", params={name: key})
        check_error(answer, NotAuthenticated)


@pytest.fixture(scope="module")
def forgers() -> dict[str, TokenForger]:
    """The forger of each shape: what it makes is refused, so tests can share it."""
    return {}


@pytest.fixture
def forger(server: Server, forgers: dict[str, TokenForger]) -> TokenForger:
    if server.shape not in forgers:
        forgers[server.shape] = TokenForger(server, server.api().register())
    return forgers[server.shape]


@pytest.fixture
def user(forger: TokenForger) -> Api:
    """A person who has registered and logged in; nobody logs out here."""
    return forger.user


def refuse(server: Server, token: str, code: type[AgentexError] = InvalidToken) -> None:
    answer = server.http.get("/api/v1/users/me", headers={"Authorization": f"Bearer {token}"})
    check_error(answer, code)


def test_token_signed_with_the_products_own_key_is_taken(server: Server, forger: TokenForger):
    token = forger.token()
    answer = server.http.get("/api/v1/users/me", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200


@one_shape
def test_algorithm_none_is_refused(server: Server, forger: TokenForger):
    for algorithm in ("none", "None", "NONE", "nOnE", ""):
        refuse(server, forger.unsigned({"alg": algorithm, "typ": "JWT", "kid": forger.key_id}))


@one_shape
def test_other_algorithms_are_refused_also_with_the_right_key(server: Server, forger: TokenForger):
    refuse(server, forger.token(algorithm="PS256"))
    refuse(server, forger.token(algorithm="RS512"))
    for secret in (forger.public_pem, forger.key_id, "", forger.public_pem.strip()):
        header = {"alg": "HS256", "typ": "JWT", "kid": forger.key_id}
        signing_input = forger.unsigned(header).rpartition(".")[0]
        signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
        raw = signature.sign(signing_input.encode(), secret.encode())
        mark = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
        refuse(server, f"{signing_input}.{mark}")


@one_shape
def test_foreign_key_is_refused_whatever_the_header_says(server: Server, forger: TokenForger):
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
    own_key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(private.public_key()))
    for headers in (
        {},
        {"jwk": own_key},
        {"jku": "https://example.com/keys.json"},
        {"x5u": "https://example.com/key.pem"},
        {"kid": "../../../../dev/null"},
        {"kid": "' UNION SELECT 'x' --"},
        {"kid": ""},
        {"crit": ["b64"], "b64": False},
    ):
        refuse(server, forger.token(key=pem, headers=headers))


@pytest.mark.parametrize(
    "kid",
    ["../../etc/passwd", "/dev/null", "", "0", "a" * 5000, "nul\x00", 7, None, ["x"], {"a": 1}],
)
def test_key_id_that_is_not_ours_is_refused(server: Server, forger: TokenForger, kid: object):
    header = {"alg": "RS256", "typ": "JWT", "kid": kid}
    refuse(server, forger.unsigned(header, signature="c2ln"))


@one_shape
@pytest.mark.parametrize("claim", ["exp", "iat", "sub", "aud", "iss", "jti", "sid", "type"])
def test_every_claim_is_required(server: Server, forger: TokenForger, claim: str):
    refuse(server, forger.token(without=claim))


@one_shape
@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "other"},
        {"aud": ["other"]},
        {"iss": "other"},
        {"type": "refresh"},
        {"type": "Access"},
        {"type": None},
        {"sid": "0"},
        {"sid": None},
        {"sub": "00000000-0000-4000-8000-000000000000"},
        {"sub": 7},
        {"exp": "tomorrow"},
        {"iat": "then"},
        {"nbf": 9999999999},
    ],
)
def test_wrong_claims_are_refused(server: Server, forger: TokenForger, claims: dict[str, Any]):
    refuse(server, forger.token(**claims))


@one_shape
def test_times_have_a_leeway_of_less_than_a_minute(server: Server, forger: TokenForger):
    now = datetime.now(UTC)
    refuse(server, forger.token(exp=now - timedelta(seconds=90)), TokenExpired)
    refuse(server, forger.token(iat=now + timedelta(seconds=90)))


def test_refresh_token_gives_no_access_and_access_token_no_refresh(server: Server, user: Api):
    refuse(server, user.refresh_token)
    body = {"refresh_token": user.access_token}
    user.refused(InvalidToken, "POST", "/auth/refresh", json=body)
    assert user.get("/users/me")["id"] == user.user_id


@one_shape
def test_changed_token_is_refused(server: Server, user: Api):
    header, payload, signature = user.access_token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    changed = encode({**claims, "exp": claims["exp"] + 10**6})
    for token in (
        f"{header}.{changed}.{signature}",
        f"{header}.{payload}.",
        f"{header}.{payload}",
        f"{header}.{payload}.{signature[:-6]}AAAAAA",
        f"{payload}.{header}.{signature}",
        f"{header}.{payload}.{signature}.{signature}",
        "a.b.c",
        "..",
        base64.b64encode(b"[" * 9000).decode() + ".e30.c2ln",
    ):
        refuse(server, token)


def test_nonsense_refresh_tokens_are_refused(user: Api):
    for token in ("", "a.b.c", "null", "\x00", "x" * 9000):
        body = {"refresh_token": token}
        user.refused(InvalidToken, "POST", "/auth/refresh", json=body)
    for value in (None, 7, {}, "x" * 10_001):
        body = {"refresh_token": value}
        user.refused(InvalidRequest, "POST", "/auth/refresh", json=body)


def test_refusal_takes_no_longer_than_a_moment(server: Server):
    server.http.get("/api/v1/users/me")
    started = time.monotonic()
    for _ in range(20):
        server.http.get("/api/v1/users/me")
    assert time.monotonic() - started < 10
