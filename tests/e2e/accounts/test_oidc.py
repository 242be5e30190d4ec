"""Single sign-on against a real, certified OpenID Connect provider."""

from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from core.errors.auth import AccountDisabled, InvalidCredentials, RegistrationDisabled
from core.errors.oidc import (
    OidcCodeInvalid,
    OidcEmailRefused,
    OidcEmailTaken,
    OidcExpired,
    OidcRefused,
    OidcStateInvalid,
    OidcTokenInvalid,
)
from core.errors.requests import InvalidRequest
from core.security.one_time_tokens import digest
from tests.fixtures.http.client import PASSWORD, check_error, check_success, conforms
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.servers.oidc_provider import CALLBACK, START, TOKEN, Browser, OidcProvider, issuer

COOKIE = "agentex-sign-in"
pytestmark = pytest.mark.usefixtures("closed_browsers")
ANSWER = {
    "access_token": "eyJhbGciOiJSUzI1NiIs...",
    "refresh_token": "eyJhbGciOiJSUzI1NiIs...",
    "token_type": "Bearer",
    "expires_in": 1800,
    "user": {
        "id": "uuid",
        "username": "zhangsan",
        "email": "zhangsan@example.com",
        "role": "user",
        "avatar_url": None,
    },
}


def browser_at(server: Server) -> Browser:
    return Browser(f"http://127.0.0.1:{server.settings.port}")


@pytest.fixture
def browser(server: Server, provider: OidcProvider) -> Browser:
    """A browser that has logged in nowhere."""
    return browser_at(server)


def audited(server: Server, action: str, user_id: str) -> list[dict]:
    """The audit entries of an act on an account."""
    admin = server.admin()
    found = admin.get("/system/audit", action=action, object_id=user_id)
    return found["items"]


def test_person_of_the_provider_gets_an_account_and_the_platforms_tokens(
    server: Server, browser: Browser, provider: OidcProvider
):
    person = provider.add(email_verified=True)
    answer = browser.log_in(person)
    assert answer.headers["Location"].startswith("/#sso_code=")
    data = check_success(browser.exchange(answer))
    conforms(data, ANSWER)
    assert data["user"]["username"] == person.claims["preferred_username"]
    assert data["user"]["email"] == person.claims["email"]
    assert data["user"]["role"] == "user"
    api = server.api(Authorization=f"Bearer {data['access_token']}")
    assert api.get("/users/me")["id"] == data["user"]["id"]
    api.post("/auth/refresh", {"refresh_token": data["refresh_token"]})
    for action in ("user.created", "identity.linked", "login.succeeded"):
        (entry,) = audited(server, action, data["user"]["id"])
        assert entry["actor_name"] == data["user"]["username"]
    assert entry["details"] == {"method": "oidc"}
    assert server.count("oidc_ticket", user_id=data["user"]["id"]) == 0
    assert server.admin().get(f"/admin/users/{data['user']['id']}")["email_verified"] is True


def test_same_person_comes_back_to_the_same_account(server: Server, provider: OidcProvider):
    person = provider.add()
    first, second = browser_at(server), browser_at(server)
    one = check_success(first.exchange(first.log_in(person)))
    two = check_success(second.exchange(second.log_in(person)))
    assert one["user"] == two["user"]
    assert server.count("oidc_identity", subject=person.subject) == 1


def test_nobody_logs_in_to_such_an_account_with_a_password(server: Server, browser: Browser, provider: OidcProvider):
    data = check_success(browser.exchange(browser.log_in(provider.add())))
    # The last one is what unknown names are compared with, so that it takes as long.
    for password in ("", "x", "no account has this password"):
        login = {"username": data["user"]["username"], "password": password}
        server.api().refused(InvalidCredentials, "POST", "/auth/login", json=login)
    own = server.api(Authorization=f"Bearer {data['access_token']}")
    change = {"old_password": "", "new_password": PASSWORD}
    own.refused(InvalidCredentials, "PUT", "/users/me/password", json=change)


@one_shape
def test_person_goes_where_they_wanted_to(browser: Browser, provider: OidcProvider):
    answer = browser.log_in(provider.add(), return_to="/chat?session=1")
    assert answer.headers["Location"].startswith("/chat?session=1#sso_code=")


@one_shape
@pytest.mark.parametrize(
    "path",
    ["https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "chat", "",
     "/\t/evil.example", "/ok\r\nSet-Cookie: a=b", "javascript:alert(1)", "/a#b", "/" + "a" * 500],
)  # fmt: skip
def test_nobody_is_sent_to_another_server(server: Server, path: str):
    refused = browser_at(server).begin(return_to=path)
    assert check_error(refused, InvalidRequest)["field"] == "return_to"


@one_shape
@pytest.mark.parametrize(
    "query",
    [{"port": 80, "challenge": "a" * 64}, {"port": 70_000, "challenge": "a" * 64},
     {"port": 5000}, {"challenge": "a" * 64}, {"port": 5000, "challenge": "x"}],
)  # fmt: skip
def test_program_is_only_reached_with_a_challenge_on_a_port_of_its_own(server: Server, query: dict):
    check_error(browser_at(server).begin(**query), InvalidRequest)


@one_shape
def test_provider_is_asked_with_pkce_state_and_nonce(browser: Browser):
    answer = browser.begin()
    target = urlsplit(answer.headers["Location"])
    assert f"{target.scheme}://{target.netloc}" == issuer()
    asked = {name: values[0] for name, values in parse_qs(target.query).items()}
    assert asked["response_type"] == "code"
    assert asked["code_challenge_method"] == "S256"
    assert asked["scope"] == "openid email profile"
    assert asked["redirect_uri"] == browser.server + CALLBACK
    assert all(len(asked[name]) >= 43 for name in ("state", "nonce", "code_challenge"))
    cookie = answer.headers["Set-Cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    # Nothing that is asked twice is the same.
    again = parse_qs(urlsplit(browser.begin().headers["Location"]).query)
    assert not {asked[name] for name in ("state", "nonce", "code_challenge")} & {
        again[name][0] for name in ("state", "nonce", "code_challenge")
    }


def test_callback_works_once(server: Server, browser: Browser, provider: OidcProvider):
    target = browser.at_provider(provider.add())
    assert browser.http.get(target).status_code == httpx.codes.FOUND
    check_error(browser.http.get(target), OidcStateInvalid)


def test_callbacks_at_once_give_one_code(browser: Browser, provider: OidcProvider):
    target = browser.at_provider(provider.add())
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: browser.http.get(target), range(4)))
    assert sorted(answer.status_code for answer in answers) == [302, 401, 401, 401]


@one_shape
def test_sign_in_of_another_browser_is_refused(server: Server, browser: Browser, provider: OidcProvider):
    target = browser.at_provider(provider.add())
    for stranger in (browser_at(server), browser_at(server)):
        check_error(stranger.http.get(target), OidcStateInvalid)
        stranger.begin()
    # It is not used up by them.
    assert browser.http.get(target).status_code == httpx.codes.FOUND


@one_shape
@pytest.mark.parametrize("state", ["", "forged", "\x00", "x" * 9000])
def test_forged_state_is_refused(browser: Browser, state: str):
    browser.begin()
    query = {"state": state, "code": "x"}
    answer = browser.http.get(browser.server + CALLBACK, params=query)
    code = InvalidRequest if "\x00" in state else OidcStateInvalid
    check_error(answer, code)


@one_shape
def test_code_of_another_sign_in_is_refused(server: Server, browser: Browser, provider: OidcProvider):
    stolen = parse_qs(urlsplit(browser.at_provider(provider.add())).query)["code"][0]
    attacker = browser_at(server)
    own = httpx.URL(attacker.at_provider(provider.add()))
    mixed = own.copy_set_param("code", stolen)
    details = check_error(attacker.http.get(mixed), OidcRefused)
    assert details == {"reason": "invalid_grant"}


@one_shape
def test_answer_in_another_issuers_name_is_refused(browser: Browser, provider: OidcProvider):
    target = httpx.URL(browser.at_provider(provider.add()))
    answer = browser.http.get(target.copy_set_param("iss", "https://evil.example"))
    assert check_error(answer, OidcTokenInvalid) == {"reason": "iss"}


@one_shape
def test_person_who_gives_up_at_the_provider_is_told(server: Server, browser: Browser, provider: OidcProvider):
    begun = browser.begin()
    page = browser.http.get(begun.headers["Location"], follow_redirects=True)
    back = browser.http.get(f"{page.request.url}/abort", follow_redirects=True)
    assert check_error(back, OidcRefused) == {"reason": "access_denied"}
    newest = server.admin().get("/system/audit", action="login.failed")["items"][0]
    expected = {"method": "oidc", "code": 40112, "reason": "access_denied"}
    assert newest["details"] == expected


@one_shape
def test_person_sees_a_page_in_both_languages(browser: Browser):
    query, accept = {"state": "forged", "code": "x"}, {"Accept": "text/html,*/*;q=0.8"}
    page = browser.http.get(browser.server + CALLBACK, params=query, headers=accept)
    assert page.status_code == OidcStateInvalid.status
    assert page.headers["Content-Type"].startswith("text/html")
    style = page.text.partition("<style>")[2].partition("</style>")[0]
    allowed = f"style-src 'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; frame-ancestors 'none'"
    assert page.headers["Content-Security-Policy"] == policy
    code = OidcStateInvalid
    assert code.message in page.text
    assert code.message_zh in page.text


def test_code_is_exchanged_once_and_where_it_was_begun(server: Server, browser: Browser, provider: OidcProvider):
    answer = browser.log_in(provider.add())
    check_error(browser_at(server).exchange(answer), OidcCodeInvalid)
    wrong = browser.exchange(answer, verifier="w" * 43)
    check_error(wrong, OidcCodeInvalid)
    check_success(browser.exchange(answer))
    check_error(browser.exchange(answer), OidcCodeInvalid)


def test_codes_exchanged_at_once_give_one_login(browser: Browser, provider: OidcProvider):
    answer = browser.log_in(provider.add())
    cookies = {COOKIE: browser.http.cookies[COOKIE]}
    body = {"code": parse_qs(urlsplit(answer.headers["Location"]).fragment)["sso_code"][0]}

    def exchange(_: int) -> int:
        with httpx.Client(cookies=cookies, trust_env=False) as http:
            return http.post(browser.server + TOKEN, json=body).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(exchange, range(4))) == [200, 401, 401, 401]


def test_existing_address_is_not_taken_over(server: Server, provider: OidcProvider):
    owner = server.person()
    address = f"{owner.name}@example.com"
    for claims in ({"email": address}, {"email": address.upper(), "email_verified": False}):
        browser = browser_at(server)
        person = provider.add(**claims, preferred_username=owner.name)
        check_error(browser.log_in(person), OidcEmailTaken)
        assert server.count("oidc_identity", subject=person.subject) == 0
    assert server.count("oidc_identity", user_id=owner.user_id) == 0


@one_shape
def test_taken_user_name_makes_another_one(server: Server, browser: Browser, provider: OidcProvider):
    owner = server.person()
    person = provider.add(preferred_username=owner.name, email_verified=False)
    data = check_success(browser.exchange(browser.log_in(person)))
    assert data["user"]["username"] == f"{owner.name}-2"
    assert data["user"]["id"] != owner.user_id
    # The provider does not vouch for the address.
    assert server.admin().get(f"/admin/users/{data['user']['id']}")["email_verified"] is False


@one_shape
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("Zoë O'Neill/ops", "Zoë-O-Neill-ops"),
        ("张三", "张三"),
        ("<script>", "script"),
        ("!", "user"),
    ],
)
def test_user_name_is_made_of_what_names_may_have(browser: Browser, provider: OidcProvider, wanted: str, expected: str):
    person = provider.add(preferred_username=wanted)
    data = check_success(browser.exchange(browser.log_in(person)))
    assert data["user"]["username"].startswith(expected)


@one_shape
def test_person_without_an_address_gets_no_account(browser: Browser, provider: OidcProvider):
    answer = browser.log_in(provider.add(email=None))
    assert check_error(answer, OidcEmailRefused) == {"reason": "missing"}


def test_disabled_account_is_refused(server: Server, provider: OidcProvider):
    person, browser = provider.add(), browser_at(server)
    answer = browser.log_in(person)
    user_id = server.sql("SELECT user_id FROM oidc_identity WHERE subject = :subject", subject=person.subject)[0][
        "user_id"
    ]
    server.admin().put(f"/admin/users/{user_id}", {"status": "disabled"})
    check_error(browser.exchange(answer), AccountDisabled)
    check_error(browser_at(server).log_in(person), AccountDisabled)
    assert server.count("token_family", user_id=user_id) == 0


def test_deleted_accounts_person_is_a_new_one(server: Server, provider: OidcProvider):
    person, browser = provider.add(), browser_at(server)
    first = check_success(browser.exchange(browser.log_in(person)))["user"]
    server.admin().delete(f"/admin/users/{first['id']}")
    browser = browser_at(server)
    second = check_success(browser.exchange(browser.log_in(person)))["user"]
    assert first["id"] != second["id"]


@one_shape
def test_new_people_get_no_account_while_registration_is_off(server: Server, provider: OidcProvider):
    known, browser = provider.add(), browser_at(server)
    check_success(browser.exchange(browser.log_in(known)))
    owner, admin = server.person(), server.admin()
    admin.put("/admin/system/config/registration_enabled", {"value": False})
    try:
        # Nor is it told whether somebody has the address.
        for person in (provider.add(), provider.add(email=f"{owner.name}@example.com")):
            check_error(browser_at(server).log_in(person), RegistrationDisabled)
        browser = browser_at(server)
        check_success(browser.exchange(browser.log_in(known)))
    finally:
        admin.delete("/admin/system/config/registration_enabled")


def test_first_sign_ins_at_once_make_one_account(server: Server, provider: OidcProvider):
    person = provider.add()
    browsers = [browser_at(server) for _ in range(4)]
    targets = [browser.at_provider(person) for browser in browsers]
    pairs = zip(browsers, targets, strict=True)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda pair: pair[0].http.get(pair[1]), pairs))
    assert [answer.status_code for answer in answers] == [302] * 4
    assert server.count("oidc_identity", subject=person.subject) == 1


@one_shape
def test_sign_in_that_took_too_long_is_refused(server: Server, browser: Browser, provider: OidcProvider):
    target = browser.at_provider(provider.add())
    server.sql("UPDATE oidc_attempt SET expires_at = '2026-01-01 00:00:00'")
    check_error(browser.http.get(target), OidcExpired)
    answer = browser.log_in(provider.add())
    server.sql("UPDATE oidc_ticket SET expires_at = '2026-01-01 00:00:00'")
    check_error(browser.exchange(answer), OidcCodeInvalid)
    # The next one that begins forgets what is over.
    browser.begin()
    assert server.count("oidc_ticket") == 0


@one_shape
def test_server_says_that_there_is_single_sign_on(server: Server):
    assert server.api().get("/auth/oidc") == {"enabled": True, "login_path": START}


def test_secrets_of_sign_ins_are_not_stored(server: Server, browser: Browser, provider: OidcProvider):
    target = browser.at_provider(provider.add())
    state, cookie = parse_qs(urlsplit(target).query)["state"][0], browser.http.cookies[COOKIE]
    query = "SELECT * FROM oidc_attempt WHERE browser_digest = :digest"
    (row,) = server.sql(query, digest=digest(cookie))
    assert not {state, cookie} & set(row.values())
    code = parse_qs(urlsplit(browser.http.get(target).headers["Location"]).fragment)["sso_code"][0]
    query = "SELECT * FROM oidc_ticket WHERE proof_digest = :digest"
    (row,) = server.sql(query, digest=digest(cookie))
    assert not {code, cookie} & set(row.values())
    logged = server.text
    assert not any(secret in logged for secret in (state, cookie, code))


def test_password_and_sign_on_are_told_apart_in_the_audit_log(server: Server):
    api = server.api().register()
    (entry,) = audited(server, "login.succeeded", api.user_id)
    assert entry["details"] == {"method": "password"}
