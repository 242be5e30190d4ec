"""Times at the ends of the calendar: refused, or answered, but never an internal error."""

import pytest

from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.runs.async_runs import HISTORY, run, run_input

# Where they lie beyond the first and the last year, seen from somewhere else.
ENDS = ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59")


@pytest.mark.parametrize("moment", ENDS)
def test_moment_that_no_other_zone_can_tell_is_refused_everywhere(server: Server, someone: Api, moment: str):
    admin = server.admin()
    code = InvalidRequest
    for path in ("/system/audit", "/system/audit/export"):
        for name in ("since", "until"):
            admin.refused(code, "GET", path, params={name: moment})
    someone.refused(code, "POST", "/users/me/api-keys", json={"name": "k", "expires_at": moment})
    kb = someone.create_kb()
    for name in ("since", "before"):
        body = {"query": "zebra", "filters": {"created": {name: moment}}}
        someone.refused(code, "POST", f"/knowledge-bases/{kb}/search", json=body)


@one_shape
def test_number_is_no_moment(server: Server, someone: Api):
    admin, code = server.admin(), InvalidRequest
    admin.refused(code, "GET", "/system/audit", params={"since": "0"})
    someone.refused(code, "GET", "/models/usage", params={"since": "0", "until": "0"})
    someone.refused(code, "POST", "/users/me/api-keys", json={"name": "k", "expires_at": 4e9})


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_history_before_the_ends_of_the_calendar_is_told_in_every_zone(server: Server, zone: str):
    person = server.person()
    person.put("/users/me", {"settings": {"timezone": zone}})
    body = run_input("zebra?")
    run(person, body)
    found = {}
    for before in ("0001-01-01", "9999-12-31"):
        answer = person.request("GET", HISTORY, params={"threadId": body["threadId"], "before": before})
        assert answer.status_code == 200, answer.text
        found[before] = len(answer.json()["messages"])
    assert found["0001-01-01"] == 0
    assert found["9999-12-31"] > 0
