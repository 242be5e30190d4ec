"""Registration, login and logout, refresh (docs/reference/agentex-api.md, section 2)."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors.auth import AccountDisabled, InvalidCredentials, InvalidToken, TokenReused
from core.errors.base import AgentexError
from core.errors.conflicts import EmailTaken, UsernameTaken
from core.errors.requests import InvalidRequest, WeakPassword
from tests.fixtures.http.client import PASSWORD, Api, check_error, conforms, unique
from tests.fixtures.product.server import Server, one_shape

REGISTERED = {
    "id": "uuid",
    "username": "zhangsan",
    "email": "zhangsan@example.com",
    "role": "user",
    "created_at": "2026-02-03T10:00:00Z",
}
TOKENS = {
    "access_token": "eyJhbGciOiJSUzI1NiIs...",
    "refresh_token": "eyJhbGciOiJSUzI1NiIs...",
    "token_type": "Bearer",
    "expires_in": 1800,
}
LOGGED_IN = {
    "id": "uuid",
    "username": "zhangsan",
    "email": "zhangsan@example.com",
    "role": "user",
    "avatar_url": None,
}


@pytest.fixture
def user(server: Server) -> Api:
    """A person who has logged in, which is what is tested here."""
    return server.member()


def account(prefix: str = "zhangsan") -> dict[str, str]:
    """The document's own request body, under a name that is free."""
    name = unique(prefix)
    return {"username": name, "email": f"{name}@example.com", "password": PASSWORD}


def test_registration_answers_as_documented(server: Server):
    body = account()
    data = server.api().post("/auth/register", body)
    conforms(data, REGISTERED)
    assert (data["username"], data["email"], data["role"]) == (
        body["username"],
        body["email"],
        "user",
    )
    assert set(data) == set(REGISTERED)


def test_login_answers_as_documented(server: Server):
    body = account()
    server.api().post("/auth/register", body)
    login = {"username": body["username"], "password": body["password"]}
    data = server.api().post("/auth/login", login)
    conforms(data, {**TOKENS, "user": LOGGED_IN})
    assert (data["token_type"], data["expires_in"]) == ("Bearer", 1800)
    assert data["access_token"] != data["refresh_token"]


def test_login_takes_the_mail_address_and_any_case_of_the_name(server: Server):
    body = account()
    server.api().post("/auth/register", body)
    for name in (body["email"], body["username"].upper(), body["email"].upper()):
        assert server.api().log_in(name).name == body["username"]


def test_refresh_answers_as_documented_and_its_tokens_work(user: Api):
    data = user.post("/auth/refresh", {"refresh_token": user.refresh_token})
    conforms(data, TOKENS)
    assert "user" not in data
    fresh = {"Authorization": f"Bearer {data['access_token']}"}
    assert user.request("GET", "/users/me", headers=fresh).status_code == 200


def test_logout_answers_as_documented_and_ends_every_token_at_once(user: Api):
    answer = user.request("POST", "/auth/logout")
    assert answer.json() == {"code": 0, "message": "success"}
    user.refused(InvalidToken, "GET", "/users/me")
    body = {"refresh_token": user.refresh_token}
    user.refused(InvalidToken, "POST", "/auth/refresh", json=body)


def test_logout_leaves_other_logins_alone(server: Server, user: Api):
    elsewhere = server.api().log_in(user.name)
    user.post("/auth/logout")
    assert elsewhere.get("/users/me")["id"] == user.user_id


def test_refresh_token_works_once_and_its_second_use_ends_the_login(user: Api):
    old = {"refresh_token": user.refresh_token}
    data = user.post("/auth/refresh", old)
    user.refused(TokenReused, "POST", "/auth/refresh", json=old)
    fresh = {"Authorization": f"Bearer {data['access_token']}"}
    user.refused(InvalidToken, "GET", "/users/me", headers=fresh)
    newer = {"refresh_token": data["refresh_token"]}
    user.refused(InvalidToken, "POST", "/auth/refresh", json=newer)


def test_reuse_of_a_refresh_token_leaves_the_persons_other_logins_alone(server: Server, user: Api):
    elsewhere = server.api().log_in(user.name)
    old = {"refresh_token": user.refresh_token}
    user.post("/auth/refresh", old)
    user.refused(TokenReused, "POST", "/auth/refresh", json=old)
    assert elsewhere.get("/users/me")["id"] == user.user_id


def test_one_of_many_simultaneous_refreshes_wins(user: Api):
    body = {"refresh_token": user.refresh_token}
    with ThreadPoolExecutor(8) as pool:
        tasks = [pool.submit(user.request, "POST", "/auth/refresh", json=body) for _ in range(8)]
        answers = [task.result() for task in tasks]
    assert sorted({answer.status_code for answer in answers}) == [200, 401]
    assert [answer.status_code for answer in answers].count(200) == 1


def test_wrong_password_and_unknown_user_get_the_same_answer(user: Api, server: Server):
    nobody = server.api()
    wrong = {"username": user.name, "password": "Wrong-password1"}
    unknown = {"username": unique("nobody"), "password": "Wrong-password1"}
    first = nobody.request("POST", "/auth/login", json=wrong)
    second = nobody.request("POST", "/auth/login", json=unknown)
    check_error(first, InvalidCredentials)
    assert first.content == second.content


@one_shape
@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"email": "not-an-address"}, InvalidRequest, "email"),
        ({"email": "a@b"}, InvalidRequest, "email"),
        ({"email": f"{'x' * 250}@example.com"}, InvalidRequest, "email"),
        ({"username": "x"}, InvalidRequest, "username"),
        ({"username": "two words"}, InvalidRequest, "username"),
        ({"username": "x" * 65}, InvalidRequest, "username"),
        ({"username": "nul\x00"}, InvalidRequest, "username"),
        ({"username": 7}, InvalidRequest, "username"),
        ({"username": None}, InvalidRequest, "username"),
        ({"password": "short1"}, WeakPassword, "password"),
        ({"password": "onlyletters"}, WeakPassword, "password"),
        ({"password": "1234567890"}, WeakPassword, "password"),
        ({"password": "a1" * 129}, WeakPassword, "password"),
        ({"role": "admin"}, InvalidRequest, "role"),
        ({"is_admin": True}, InvalidRequest, "is_admin"),
        ({"id": "7"}, InvalidRequest, "id"),
    ],
)
def test_registration_with_a_bad_field_names_it_and_makes_no_account(
    server: Server, change: dict[str, object], code: type[AgentexError], field: str
):
    body = {**account(), **change}
    before = server.count("user")
    details = server.api().refused(code, "POST", "/auth/register", json=body)
    assert details["field"] == field
    assert details["error"]
    assert server.count("user") == before


def test_bad_mail_address_answers_word_for_word_as_documented(server: Server):
    body = {**account(), "email": "nonsense"}
    assert server.api().request("POST", "/auth/register", json=body).json() == {
        "code": 40001,
        "message": "Invalid request parameters",
        "details": {"field": "email", "error": "Invalid email format"},
    }


def test_password_may_not_be_the_user_name(server: Server):
    name = unique("person1")
    body = {"username": name, "email": f"{name}@example.com", "password": name.upper()}
    server.api().refused(WeakPassword, "POST", "/auth/register", json=body)


def test_name_and_address_are_taken_in_any_spelling(server: Server):
    body = account("käthe")
    nobody = server.api()
    nobody.post("/auth/register", body)
    for name in (body["username"], body["username"].upper(), body["username"].replace("k", "ｋ")):
        again = {**account(), "username": name}
        nobody.refused(UsernameTaken, "POST", "/auth/register", json=again)
    again = {**account(), "email": body["email"].upper()}
    nobody.refused(EmailTaken, "POST", "/auth/register", json=again)


def test_one_of_many_simultaneous_registrations_wins_and_none_is_an_administrator(server: Server):
    nobody = server.api()
    body = account()
    with ThreadPoolExecutor(6) as pool:
        tasks = [pool.submit(nobody.request, "POST", "/auth/register", json=body) for _ in range(6)]
        answers = [task.result() for task in tasks]
    assert sorted(answer.status_code for answer in answers) == [200, *[409] * 5]
    roles = server.sql(
        'SELECT r.name, count(*) AS n FROM role r JOIN "user" u ON u.role_id = r.id '
        "WHERE r.name = 'admin' GROUP BY r.name"
    )
    assert roles == [{"name": "admin", "n": 1}]


@one_shape
@pytest.mark.parametrize(
    "password",
    ["Pass\x00word123", "密码密码密码密码1", "🔐" * 8 + "a1", "p1" * 36 + "tail-A", " Leading1 "],
)
def test_any_character_of_a_password_counts(server: Server, password: str):
    user = server.api().register(password)
    assert server.api().log_in(user.name, password).user_id == user.user_id
    for wrong in (password[:-1], password.strip(" \x00")[:-2], password.replace("\x00", "")):
        if wrong != password:
            body = {"username": user.name, "password": wrong}
            user.refused(InvalidCredentials, "POST", "/auth/login", json=body)


def test_error_messages_follow_the_callers_language(server: Server):
    body = {"username": "nobody", "password": "nothing"}
    answers = {
        language: server.api(**{"Accept-Language": language})
        .request("POST", "/auth/login", json=body)
        .json()["message"]
        for language in ("zh-CN,zh;q=0.9", "en", "")
    }
    assert list(answers.values()) == ["用户名或密码错误", *["Wrong user name or password"] * 2]


def test_disabled_account_is_refused_with_every_credential(server: Server, user: Api):
    key = user.post("/users/me/api-keys", {"name": "k"})["key"]
    server.sql("UPDATE \"user\" SET status = 'disabled' WHERE id = :id", id=user.user_id)
    user.refused(AccountDisabled, "GET", "/users/me")
    by_key = server.api(**{"X-API-Key": key})
    by_key.refused(AccountDisabled, "GET", "/users/me")
    body = {"refresh_token": user.refresh_token}
    user.refused(AccountDisabled, "POST", "/auth/refresh", json=body)
    login = {"username": user.name, "password": PASSWORD}
    server.api().refused(AccountDisabled, "POST", "/auth/login", json=login)
    wrong = {"username": user.name, "password": "Wrong-password1"}
    server.api().refused(InvalidCredentials, "POST", "/auth/login", json=wrong)
