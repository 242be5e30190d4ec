"""Single sign-on with an issuer that lies, and what operators decide about its people."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from core.errors.auth import InvalidCredentials, InvalidToken, RegistrationDisabled
from core.errors.oidc import (
    OidcEmailRefused,
    OidcEmailTaken,
    OidcRefused,
    OidcStateInvalid,
    OidcTokenInvalid,
    OidcUnavailable,
)
from core.errors.requests import TooManyLogins
from core.errors.server import UnusableSetting
from core.oidc.provider import NEW_KEYS_SECONDS
from tests.fixtures.http.client import Api, check_error, check_success, eventually, unique
from tests.fixtures.product.api_processes import api_processes
from tests.fixtures.product.processes import free_port
from tests.fixtures.product.server import Server
from tests.fixtures.servers.hostile_oidc_issuer import (
    CLIENT,
    HostileIssuer,
    hostile_issuer,
    signed,
    signed_with_the_public_key,
    unsigned,
)
from tests.fixtures.servers.oidc_provider import CALLBACK, Browser

pytestmark = pytest.mark.usefixtures("closed_browsers")
DOMAIN = "corp.example"


@dataclass
class World:
    """The issuer and API processes on one database that differ in what their operator decided."""

    issuer: HostileIssuer
    plain: Server
    strict: Server
    lost: Server
    few: Server

    def come_back(self, server: Server, make_token: Callable[[str], Any], **query: str) -> httpx.Response:
        """Log in with the token that the issuer makes for the nonce."""
        browser = Browser(f"http://127.0.0.1:{server.settings.port}")
        begun = parse_qs(urlsplit(browser.begin().headers["Location"]).query)
        code = unique("code")
        self.issuer.codes[code] = make_token(begun["nonce"][0])
        given = {"state": begun["state"][0], "code": code, **query}
        answer = browser.http.get(browser.server + CALLBACK, params=given)
        answer.extensions["browser"] = browser
        return answer

    def log_in(self, server: Server, **claims: Any) -> httpx.Response:
        """Log in with a good token of these claims."""
        made = self.issuer.claims(**{"sub": unique("sub"), **claims})
        return self.come_back(server, lambda nonce: signed({**made, "nonce": nonce}))

    def account(self, server: Server, **claims: Any) -> dict[str, Any]:
        """The account that these claims log in to."""
        answer = self.log_in(server, **claims)
        return check_success(answer.extensions["browser"].exchange(answer))["user"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with hostile_issuer() as issuer:
        client = {"AGENTEX_OIDC_ISSUER": issuer.url, "AGENTEX_OIDC_CLIENT_ID": CLIENT}
        with api_processes(tmp_path_factory.mktemp("oidc"), client) as apis:
            servers = [
                apis.start(wait=False),
                apis.start(
                    wait=False,
                    AGENTEX_REGISTRATION_ENABLED="false",
                    AGENTEX_OIDC_REGISTRATION_ENABLED="true",
                    AGENTEX_OIDC_LINK_BY_EMAIL="true",
                    AGENTEX_OIDC_EMAIL_DOMAINS=DOMAIN,
                    AGENTEX_OIDC_ROLES_CLAIM="realm_access.roles",
                    AGENTEX_OIDC_ROLES='{"chiefs": "admin", "makers": "developer", "odd": "none"}',
                ),
                apis.start(
                    wait=False,
                    AGENTEX_OIDC_ISSUER=f"http://127.0.0.1:{free_port()}",
                    AGENTEX_ADDRESS_WRONG_LOGINS="1",
                ),
                apis.start(wait=False, AGENTEX_ADDRESS_WRONG_LOGINS="1"),
            ]
            for server in servers:
                apis.wait_up(server)
            yield World(issuer, *servers)


@pytest.fixture(autouse=True)
def _as_before(world: World) -> Iterator[None]:
    yield
    world.issuer.kids, world.issuer.userinfo, world.issuer.renamed = ["first"], None, {}


def test_good_token_is_believed(world: World):
    name = unique("good")
    user = world.account(world.plain, email=f"{name}@example.com", preferred_username=name)
    assert (user["username"], user["role"]) == (name, "user")
    # Without a secret this is a public client, which PKCE protects.
    form = world.issuer.token_requests[-1]
    assert form["authorization"] is None
    assert form["client_id"] == CLIENT
    assert len(form["code_verifier"]) >= 43
    assert form["grant_type"] == "authorization_code"


NOW = int(time.time())
LIES: dict[str, tuple[dict[str, Any], str]] = {
    "nonce of another sign-in": ({"nonce": "x" * 43}, "nonce"),
    "no nonce": ({"nonce": None}, "nonce"),
    "for another client": ({"aud": "another"}, "aud"),
    "for nobody": ({"aud": None}, "aud"),
    "for others too, asked by another": ({"aud": [CLIENT, "b"], "azp": "b"}, "azp"),
    "for others too, asked by nobody": ({"aud": [CLIENT, "b"]}, "azp"),
    "by another issuer": ({"iss": "https://evil.example"}, "iss"),
    "by nobody": ({"iss": None}, "iss"),
    "about nobody": ({"sub": None}, "sub"),
    "about an empty name": ({"sub": ""}, "sub"),
    "about a long name": ({"sub": "s" * 256}, "sub"),
    "expired": ({"exp": NOW - 120}, "expired"),
    "without an end": ({"exp": None}, "exp"),
    "with an end that is none": ({"exp": "never"}, "exp"),
    "made in the future": ({"iat": NOW + 7200}, "iat"),
    "not valid yet": ({"nbf": NOW + 7200}, "nbf"),
    "for another access token": ({"at_hash": "x" * 22}, "at_hash"),
}


@pytest.mark.parametrize("lie", LIES)
def test_token_that_is_wrong_is_refused(world: World, lie: str):
    change, reason = LIES[lie]
    good = world.issuer.claims(sub=unique("sub"))

    def make_token(nonce: str) -> str:
        claims = {**good, "nonce": nonce, **change}
        return signed({name: value for name, value in claims.items() if value is not None})

    details = check_error(world.come_back(world.plain, make_token), OidcTokenInvalid)
    assert details == {"reason": reason}


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no signature": unsigned,
    "signed with the public key": signed_with_the_public_key,
    "signed with another key": lambda claims: signed(claims, by="another"),
    "signed with a key that is not published": lambda claims: signed(claims, kid="unknown"),
    "changed": lambda claims: signed(claims).replace(".ey", ".ex", 1),
    "no token": lambda _: "nothing",
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_token_is_refused(world: World, forgery: str):
    good = world.issuer.claims(sub=unique("sub"))
    answer = world.come_back(world.plain, lambda nonce: FORGERIES[forgery]({**good, "nonce": nonce}))
    assert check_error(answer, OidcTokenInvalid) == {"reason": "signature"}


def test_clocks_may_be_apart_a_little(world: World):
    now, name = int(time.time()), unique("skewed")
    world.account(
        world.plain,
        exp=now - 30,
        iat=now - 90,
        email=f"{name}@example.com",
        preferred_username=name,
    )


def test_answer_without_an_id_token_is_refused(world: World):
    answer = world.come_back(world.plain, lambda _: {"access_token": "at", "token_type": "Bearer"})
    assert check_error(answer, OidcTokenInvalid) == {"reason": "missing"}


def test_providers_word_is_not_repeated(world: World):
    answer = world.come_back(world.plain, lambda _: {"error": "<script>", "error_description": "x"})
    assert check_error(answer, OidcRefused) == {"reason": "unknown"}
    answer = world.come_back(world.plain, lambda _: {"error": "invalid_client"})
    assert check_error(answer, OidcUnavailable) == {"reason": "client"}


def test_new_key_is_fetched_when_it_is_first_used(world: World):
    world.log_in(world.plain)
    fetched = world.issuer.fetched["/jwks"]
    # Keys are not asked for again and again in the name of forged tokens.
    eventually(lambda: time.monotonic() > fetched[-1] + NEW_KEYS_SECONDS + 0.1, what="a new look")
    before = len(fetched)
    world.issuer.kids = ["second", "first"]
    name = unique("rotated")
    good = world.issuer.claims(sub=name, email=f"{name}@example.com", preferred_username=name)
    answer = world.come_back(world.plain, lambda nonce: signed({**good, "nonce": nonce}, kid="second"))
    assert answer.status_code == httpx.codes.FOUND, answer.text
    for _ in range(3):
        world.come_back(world.plain, lambda nonce: signed({**good, "nonce": nonce}, kid="third"))
    assert len(fetched) == before + 1


def test_new_key_of_the_old_ones_name_is_fetched_too(world: World):
    world.log_in(world.plain)
    fetched = world.issuer.fetched["/jwks"]
    eventually(lambda: time.monotonic() > fetched[-1] + NEW_KEYS_SECONDS + 0.1, what="a new look")
    name = unique("again")
    good = world.issuer.claims(sub=name, email=f"{name}@example.com", preferred_username=name)
    world.issuer.renamed = {"first": "second"}
    answer = world.come_back(world.plain, lambda nonce: signed({**good, "nonce": nonce}, kid="first", by="second"))
    assert answer.status_code == httpx.codes.FOUND, answer.text
    world.issuer.renamed = {}
    is_back = lambda: world.log_in(world.plain, email=None).status_code != httpx.codes.UNAUTHORIZED  # noqa: E731
    eventually(is_back, what="the old key")


def test_what_is_said_of_somebody_else_is_not_used(world: World):
    world.issuer.userinfo = {"sub": "somebody else", "email": "chief@example.com"}
    answer = world.log_in(world.plain, email=None)
    assert check_error(answer, OidcTokenInvalid) == {"reason": "sub"}
    name = unique("told")
    world.issuer.userinfo = {"sub": name, "email": f"{name}@example.com"}
    assert world.account(world.plain, sub=name, email=None)["email"] == f"{name}@example.com"


def test_address_is_not_vouched_for_by_what_is_said_of_another_one(world: World):
    subject, address = unique("mixed"), f"mixed@{DOMAIN}"
    world.issuer.userinfo = {"sub": subject, "email": "a@b.example", "email_verified": True}
    claims = {"sub": subject, "email": address, "email_verified": None, "preferred_username": None}
    answer = world.log_in(world.strict, **claims)
    assert check_error(answer, OidcEmailRefused) == {"reason": "not_verified"}


def test_subject_is_told_apart_by_its_letters_and_not_by_its_address(world: World):
    name = unique("Twin")
    first = world.account(world.plain, sub=name, email=f"{name}@example.com", preferred_username=name)
    other = world.account(world.plain, sub=name.upper(), email=f"{name}2@example.com", preferred_username=name)
    assert first["id"] != other["id"]
    # Who is known stays who they are, whatever address they have by now.
    again = world.account(world.plain, sub=name, email=f"{name}2@example.com")
    assert again == first


def test_unreachable_issuer_is_told_and_is_nobodys_fault(world: World):
    browser = Browser(f"http://127.0.0.1:{world.lost.settings.port}")
    answers = [browser.begin() for _ in range(12)]
    for answer in answers:
        assert check_error(answer, OidcUnavailable) == {"reason": "discovery"}
        assert answer.headers["Retry-After"]


def test_sign_ins_of_others_keep_nobody_from_ending_theirs(world: World):
    browser = Browser(f"http://127.0.0.1:{world.few.settings.port}")
    begun = parse_qs(urlsplit(browser.begin().headers["Location"]).query)
    # What any page can make the browsers of an office do.
    others = [Browser(browser.server).begin() for _ in range(10)]
    details = check_error(others[-1], TooManyLogins)
    assert others[-1].headers["Retry-After"] == str(details["retry_after"])
    for _ in range(12):
        forged = browser.http.get(browser.server + CALLBACK, params={"state": "x", "code": "y"})
        check_error(forged, OidcStateInvalid)
    code, name = unique("code"), unique("inside")
    made = world.issuer.claims(sub=name, email=f"{name}@example.com", preferred_username=name)
    world.issuer.codes[code] = signed({**made, "nonce": begun["nonce"][0]})
    answer = browser.http.get(browser.server + CALLBACK, params={"state": begun["state"][0], "code": code})
    assert check_success(browser.exchange(answer))["user"]["username"] == name


def strict_person(world: World, **claims: Any) -> dict[str, Any]:
    name = unique("strict")
    given = {"email": f"{name}@{DOMAIN}", "preferred_username": name, **claims}
    return world.account(world.strict, **given)


def test_own_setting_lets_people_in_where_registration_is_off(world: World):
    body = {"username": unique(), "email": f"{unique()}@{DOMAIN}", "password": "Password123"}
    refused = world.strict.api().request("POST", "/auth/register", json=body)
    check_error(refused, RegistrationDisabled)
    assert strict_person(world)["role"] == "user"


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"email": "a@example.com"}, "domain"),
        ({"email": f"a@sub.{DOMAIN}"}, "domain"),
        ({"email": f"a@evil{DOMAIN}"}, "domain"),
        ({"email": f"a@{DOMAIN}@example.com"}, "domain"),
        ({"email": f"a@{DOMAIN}", "email_verified": False}, "not_verified"),
        ({"email": f"a@{DOMAIN}", "email_verified": "yes"}, "not_verified"),
        ({"email": f"a@{DOMAIN}", "email_verified": None}, "not_verified"),
    ],
)
def test_only_verified_addresses_of_named_domains_are_let_in(world: World, claims: dict[str, Any], reason: str):
    answer = world.log_in(world.strict, **claims)
    assert check_error(answer, OidcEmailRefused) == {"reason": reason}


def owner_of(world: World, address: str) -> Api:
    owner = world.plain.person()
    world.plain.sql(
        'UPDATE "user" SET email = :email, email_key = :email WHERE id = :id',
        email=address,
        id=owner.user_id,
    )
    return owner


def test_verified_address_opens_its_account_where_the_operator_says_so(world: World):
    address = f"{unique('owner')}@{DOMAIN}"
    owner = owner_of(world, address)
    feed = owner.post("/calendar/feed")["url"]
    assert world.plain.http.get(feed).status_code == httpx.codes.OK
    role = world.plain.sql("SELECT id FROM role WHERE name = 'developer'")[0]["id"]
    world.plain.sql('UPDATE "user" SET role_id = :role WHERE id = :id', role=role, id=owner.user_id)
    spy = {"name": "spy", "type": "standard", "url": "https://example.com", "auth_type": "none"}
    spy_id = owner.post("/mcp/connections", spy)["id"]
    owner.put("/users/me/tool-policies", {"policies": {"calendar_write": "auto"}})
    assert strict_person(world, sub=address, email=address)["id"] == owner.user_id
    # Whoever made it in advance under somebody else's address has no way in any more.
    owner.refused(InvalidToken, "GET", "/users/me")
    login = {"username": owner.name, "password": "Password123"}
    world.plain.api().refused(InvalidCredentials, "POST", "/auth/login", json=login)
    # Nor does anything go on in their name, or to where they listen.
    assert world.plain.http.get(feed).status_code == httpx.codes.NOT_FOUND
    assert world.plain.count("mcp_connection", id=spy_id, enabled=False) == 1
    assert world.plain.count("chosen_policy", owner_id=owner.user_id) == 0
    acts = world.plain.admin().get("/system/audit", object_id=owner.user_id, action="identity.linked")
    (linked,) = acts["items"]
    assert linked["details"] == {"issuer": world.issuer.url, "by_email": True, "keys_revoked": 1}
    # Another person who gets the address later gets nothing else with it.
    answer = world.log_in(world.strict, email=address)
    check_error(answer, OidcEmailTaken)


def test_administrators_account_is_not_opened_by_an_address(world: World):
    address = f"{unique('chief')}@{DOMAIN}"
    world.plain.sql(
        'UPDATE "user" SET email = :email, email_key = :email WHERE username = :name',
        email=address,
        name=world.plain.settings.admin_username,
    )
    check_error(world.log_in(world.strict, email=address), OidcEmailTaken)
    assert world.plain.admin().name == world.plain.settings.admin_username


def test_account_that_manages_the_system_is_not_opened_by_an_address(world: World):
    address = f"{unique('keeper')}@{DOMAIN}"
    owner = owner_of(world, address)
    body = {"custom_permissions": {"grants": ["system:manage"], "revokes": []}}
    world.plain.admin().put(f"/admin/users/{owner.user_id}", body)
    check_error(world.log_in(world.strict, email=address), OidcEmailTaken)
    assert owner.get("/users/me")["id"] == owner.user_id


def test_address_that_is_not_verified_opens_nothing_even_then(world: World):
    address = f"{unique('owner')}@{DOMAIN}"
    owner = owner_of(world, address)
    answer = world.log_in(world.plain, email=address, email_verified=True)
    check_error(answer, OidcEmailTaken)
    answer = world.log_in(world.strict, email=address, email_verified=False)
    check_error(answer, OidcEmailRefused)
    assert owner.get("/users/me")["id"] == owner.user_id


def test_role_follows_the_groups_at_each_login(world: World):
    subject = unique("maker")
    fixed = {"sub": subject, "email": f"{subject}@{DOMAIN}", "preferred_username": subject}

    def role(*groups: Any) -> str:
        return strict_person(world, **fixed, realm_access={"roles": list(groups)})["role"]

    assert role("makers", "others") == "developer"
    assert role("makers", "chiefs") == "admin"
    assert role("Makers", 7, None) == "user"
    admin = world.plain.admin()
    entries = admin.get("/system/audit", action="user.changed", actor="")["items"]
    changes = [entry["details"]["role"]["after"] for entry in entries if entry["object_name"] == subject]
    assert changes == ["user", "admin", "developer"]


def test_role_that_does_not_exist_is_the_operators_to_mend(world: World):
    name = unique("odd")
    answer = world.log_in(world.strict, sub=name, email=f"{name}@{DOMAIN}", realm_access={"roles": ["odd"]})
    assert check_error(answer, UnusableSetting)["setting"] == "AGENTEX_OIDC_ROLES"
    assert world.plain.count("oidc_identity", subject=name) == 0


def test_last_administrator_stays_one(world: World):
    subject = unique("last")
    fixed = {"sub": subject, "email": f"{subject}@{DOMAIN}", "preferred_username": subject}
    chief = strict_person(world, **fixed, realm_access={"roles": ["chiefs"]})
    first = world.plain.settings.admin_username
    role = """(SELECT id FROM role WHERE name = '{}')"""
    move = 'UPDATE "user" SET role_id = ' + role + " WHERE username = :name"
    world.plain.sql(move.format("user"), name=first)
    try:
        assert strict_person(world, **fixed)["role"] == "admin"
    finally:
        world.plain.sql(move.format("admin"), name=first)
    assert strict_person(world, **fixed)["role"] == "user"
    assert chief["role"] == "admin"
