"""Limits on requests and wrong passwords, over HTTP and across two API processes."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from core.errors.auth import InvalidCredentials
from core.errors.base import AgentexError
from core.errors.requests import TooManyLogins, TooManyRequests, WeakPassword
from tests.fixtures.http.client import PASSWORD, Api, check_error, check_success, eventually, unique
from tests.fixtures.product.api_processes import ApiProcesses, same_caller
from tests.fixtures.product.server import Server
from tests.fixtures.servers.redis_server import RedisServer

WRONG_LOGINS, ADDRESS_WRONG_LOGINS, KEY_REQUESTS, REGISTRATIONS = 4, 9, 6, 3
# Few, so that none becomes free again while they are spent.
REQUESTS = 12
VARIABLES = {
    "AGENTEX_WRONG_LOGINS": str(WRONG_LOGINS),
    "AGENTEX_ADDRESS_WRONG_LOGINS": str(ADDRESS_WRONG_LOGINS),
    "AGENTEX_KEY_REQUESTS_PER_MINUTE": str(KEY_REQUESTS),
    "AGENTEX_REQUESTS_PER_MINUTE": str(REQUESTS),
    "AGENTEX_ADDRESS_REGISTRATIONS": str(REGISTRATIONS),
}
_addresses = iter(f"198.51.100.{number}" for number in range(1, 255))


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    """Killed by a test, and started again by it."""
    redis = RedisServer()
    yield redis
    redis.kill()


@pytest.fixture(scope="module")
def pair(standalone_apis: ApiProcesses, redis_server: RedisServer) -> Iterator[tuple[Server, Server]]:
    """Two processes behind a proxy on this machine, which count together in Redis."""
    variables = {**VARIABLES, "AGENTEX_REDIS_URL": redis_server.url}
    first, second = (standalone_apis.start(wait=False, **variables) for _ in range(2))
    for server in (first, second):
        standalone_apis.wait_up(server)
    yield first, second
    for server in (first, second):
        standalone_apis.stop(server)


def at(server: Server, address: str | None = None) -> Api:
    """Nobody yet, at an address that no other test uses."""
    return server.api(**{"X-Forwarded-For": address or next(_addresses)})


def try_login(caller: Api, name: str, password: str = "Wrong-password1") -> httpx.Response:
    return caller.request("POST", "/auth/login", json={"username": name, "password": password})


def check_wait(answer: httpx.Response, code: type[AgentexError], longest: float) -> None:
    details = check_error(answer, code)
    assert 0 < details["retry_after"] <= longest + 1
    assert answer.headers["Retry-After"] == str(details["retry_after"])


def test_wrong_passwords_of_one_address_do_not_lock_the_owner_out(pair: tuple[Server, Server]):
    name = pair[0].person().name
    guessing = [at(pair[0])]
    guessing.append(same_caller(guessing[0], pair[1]))
    with ThreadPoolExecutor(4) as pool:
        tries = [pool.submit(try_login, guessing[n % 2], name) for n in range(WRONG_LOGINS + 4)]
        answers = [one.result() for one in tries]
    # As many at once, through both processes, as one after the other.
    statuses = [answer.status_code for answer in answers]
    assert sorted(statuses) == [401] * WRONG_LOGINS + [429] * 4
    for answer in answers:
        if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
            check_wait(answer, TooManyLogins, 300 / WRONG_LOGINS)
    # Not even the right one is checked there any more; its owner comes in from elsewhere.
    check_wait(try_login(guessing[1], name, PASSWORD), TooManyLogins, 100)
    assert check_success(try_login(at(pair[0]), name, PASSWORD))["user"]["username"] == name


def test_name_that_nobody_has_is_refused_like_any_other(pair: tuple[Server, Server]):
    known, unknown = pair[0].person().name, unique("nobody")
    answers = {
        name: [try_login(caller, name) for _ in range(WRONG_LOGINS + 1)]
        for name, caller in ((known, at(pair[0])), (unknown, at(pair[0])))
    }
    for first, second in zip(*answers.values(), strict=True):
        assert (first.status_code, first.json()["message"]) == (
            second.status_code,
            second.json()["message"],
        )
    assert answers[unknown][-1].status_code == httpx.codes.TOO_MANY_REQUESTS


def test_one_address_may_not_try_many_accounts(pair: tuple[Server, Server]):
    guessing = at(pair[0])
    for _ in range(ADDRESS_WRONG_LOGINS):
        check_error(try_login(guessing, unique("nobody")), InvalidCredentials)
    check_wait(try_login(guessing, unique("nobody")), TooManyLogins, 100)


def test_password_change_is_no_way_to_guess_the_old_one(pair: tuple[Server, Server]):
    person = pair[0].person()
    person.headers["X-Forwarded-For"] = next(_addresses)
    body = {"old_password": "Wrong-password1", "new_password": "NewPassword456"}
    for _ in range(WRONG_LOGINS):
        person.refused(InvalidCredentials, "PUT", "/users/me/password", json=body)
    right = {**body, "old_password": PASSWORD}
    person.refused(TooManyLogins, "PUT", "/users/me/password", json=right)


def test_key_that_runs_wild_leaves_its_owner_room(pair: tuple[Server, Server]):
    person = pair[0].person()
    elsewhere = same_caller(person, pair[1])
    answers = [
        caller.request("GET", "/users/me") for _ in range(KEY_REQUESTS // 2 + 1) for caller in (person, elsewhere)
    ]
    assert [answer.status_code for answer in answers] == [200] * KEY_REQUESTS + [429] * 2
    check_wait(answers[-1], TooManyRequests, 60 / KEY_REQUESTS)
    owner = at(pair[1]).log_in(person.name)
    assert owner.get("/users/me")["username"] == person.name
    # Other people are not held up, and where a request comes from does not matter.
    assert pair[0].person().get("/users/me")
    person.headers["X-Forwarded-For"] = next(_addresses)
    person.refused(TooManyRequests, "GET", "/users/me")


def test_account_has_one_count_for_all_its_logins(pair: tuple[Server, Server]):
    person = pair[0].person()
    logins = [at(pair[0]).log_in(person.name), at(pair[1]).log_in(person.name)]
    statuses = [logins[n % 2].request("GET", "/users/me").status_code for n in range(REQUESTS + 2)]
    assert statuses[:REQUESTS] == [200] * REQUESTS
    assert 429 in statuses[REQUESTS:]


def test_requests_without_a_valid_credential_count_by_address(pair: tuple[Server, Server]):
    stranger = at(pair[0])
    stranger.headers["Authorization"] = "Bearer sk-nonsense"
    statuses = {stranger.request("GET", "/users/me").status_code for _ in range(REQUESTS + 2)}
    assert statuses == {401, 429}
    refused = stranger.request("POST", "/auth/refresh", json={"refresh_token": "x"})
    check_wait(refused, TooManyRequests, 60 / REQUESTS)
    # A valid one from the same address is no stranger's, and who looks after the server gets in.
    person = pair[0].person()
    person.headers["X-Forwarded-For"] = stranger.headers["X-Forwarded-For"]
    assert person.get("/users/me")
    assert stranger.http.get("/healthz", headers=stranger.headers).status_code == 200


def test_registrations_count_by_address(pair: tuple[Server, Server]):
    caller = at(pair[0])

    def register() -> httpx.Response:
        name = unique("person")
        body = {"username": name, "email": f"{name}@example.com", "password": "short"}
        return caller.request("POST", "/auth/register", json=body)

    for _ in range(REGISTRATIONS):
        check_error(register(), WeakPassword)
    check_wait(register(), TooManyRequests, 3600 / REGISTRATIONS)


def test_each_process_counts_for_itself_while_redis_is_gone(pair: tuple[Server, Server], redis_server: RedisServer):
    name, address = pair[0].person().name, next(_addresses)
    here, there = (at(server, address) for server in pair)
    redis_server.kill()
    try:
        for caller in (here, there):
            # Nobody is let in without limit, and nobody is kept out by the other process's count.
            statuses = [try_login(caller, name).status_code for _ in range(WRONG_LOGINS + 1)]
            assert statuses == [401] * WRONG_LOGINS + [429]
        assert check_success(try_login(at(pair[1]), name, PASSWORD))["user"]["username"] == name
        assert pair[0].http.get("/healthz").is_success
        ready = pair[0].http.get("/readyz").json()["components"]
        assert (ready["redis"]["status"], ready["database"]["status"]) == ("error", "ok")
    finally:
        redis_server.start()

    def counted_together() -> bool:
        fresh = next(_addresses)
        wrong = [try_login(at(pair[n % 2], fresh), name).status_code for n in range(WRONG_LOGINS + 1)]
        return wrong == [401] * WRONG_LOGINS + [429]

    # Both look for it again after a pause.
    eventually(counted_together, seconds=30, what="both count in Redis again", pause=1)
