"""Trigger tests by a language model over HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from core.errors.auth import ModelNotFound, PermissionDenied, SkillNotFound
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.skills.skill_texts import REPORT, REVIEW

# A model that says something and calls nothing.
QUIET = '#rounds {"rounds": [], "chosen": 0}'


def query_with_calls(*rounds: Any, should: bool, said: str = "Please.") -> dict[str, Any]:
    """A request whose model makes these calls."""
    wanted = json.dumps({"rounds": rounds, "chosen": 0})
    return {"query": f"{said} #rounds {wanted}", "should_trigger": should}


def query_that_loads(name: str, *, should: bool) -> dict[str, Any]:
    return query_with_calls([["load_skill", {"name": name}]], should=should)


@pytest.fixture
def person(llm_product: Server) -> Iterator[Api]:
    return llm_product.person()


@pytest.fixture
def path(person: Api) -> str:
    """Of a skill beside another one."""
    person.post("/skills", {"content": REVIEW, "slug": "code-review"})
    return f"/skills/{person.post('/skills', {'content': REPORT})['id']}"


def test_model_chooses_from_the_index_and_every_trial_is_counted(person: Api, path: str, scripted_llm: ModelServer):
    queries = [
        query_that_loads("daily-report", should=True),
        query_that_loads("code-review", should=True),
        query_with_calls([["current_time", {}]], should=True),
        {"query": f"Hello {QUIET}", "should_trigger": False},
    ]
    told = person.post(f"{path}/trigger-test", {"queries": queries, "runs": 2})
    assert (told["model"], told["runs"], told["version"]) == ("by-question", 2, 1)
    found = [(answer["triggered"], answer["score"], answer["chosen"]) for answer in told["answers"]]
    assert found == [
        (True, 1.0, "daily-report"),
        (False, 0.0, "code-review"),
        (False, 0.0, None),
        (False, 0.0, None),
    ]
    assert (told["all"]["recall"], told["all"]["precision"]) == (pytest.approx(1 / 3), 1.0)
    assert told["confusion"] == {"code-review": 1}
    assert len(scripted_llm.run_requests) == 8
    asked = scripted_llm.run_requests[0].body
    assert '<skill name="daily-report">' in asked["messages"][0]["content"]
    assert "load_skill" in {tool["function"]["name"] for tool in asked["tools"]}
    usage = person.get("/models/usage")
    assert usage["totals"]["runs"] == 0
    assert usage["totals"]["prompt_tokens"] > 0

    (kept,) = person.get(f"{path}/trigger-tests")["items"]
    assert kept["report"] == told


def test_misspelled_name_may_be_mended(person: Api, path: str):
    wrong, right = (["load_skill", {"name": name}] for name in ("daily-raport", "daily-report"))
    query = query_with_calls([wrong], [right], should=True)
    told = person.post(f"{path}/trigger-test", {"queries": [query], "runs": 1})
    assert told["all"]["recall"] == 1.0


def test_older_version_is_tried_as_it_was(person: Api, path: str, scripted_llm: ModelServer):
    changed = REPORT.replace("daily report", "weekly digest")
    person.put(path, {"content": changed})
    body = {"queries": [{"query": f"Hello {QUIET}", "should_trigger": True}], "runs": 1}
    for version in (1, 2):
        person.post(f"{path}/trigger-test", {**body, "version": version})
    first, second = (request.body["messages"][0]["content"] for request in scripted_llm.run_requests)
    assert ("weekly digest" in first, "weekly digest" in second) == (False, True)
    listed = person.get(f"{path}/trigger-tests", version=1)
    assert [item["report"]["version"] for item in listed["items"]] == [1]


def test_who_wants_no_model_is_asked_for_none(llm_product: Server, person: Api, path: str, scripted_llm: ModelServer):
    queries = [{"query": "write my daily report", "should_trigger": True}]
    told = person.post(f"{path}/trigger-test", {"queries": queries, "by": "offline"})
    assert (told["model"], told["runs"], told["all"]["recall"]) == (None, 1, 1.0)
    # A key that may run no agents spends nothing on models.
    key = person.post("/users/me/api-keys", {"name": "k", "scopes": ["skill:view"]})["key"]
    narrow = llm_product.api(**{"X-API-Key": key})
    assert narrow.post(f"{path}/trigger-test", {"queries": queries})["model"] is None
    body = {"json": {"queries": queries, "by": "offline", "model_id": "any"}}
    fault = person.refused(InvalidRequest, "POST", f"{path}/trigger-test", **body)
    assert fault["field"] == "model_id"
    body = {"json": {"queries": queries, "by": "model"}}
    narrow.refused(PermissionDenied, "POST", f"{path}/trigger-test", **body)
    assert scripted_llm.run_requests == []


def test_too_many_trials_are_refused_before_any_is_made(person: Api, path: str, scripted_llm: ModelServer):
    queries = [{"query": f"Hello {number}", "should_trigger": False} for number in range(31)]
    body = {"json": {"queries": queries, "runs": 10}}
    fault = person.refused(InvalidRequest, "POST", f"{path}/trigger-test", **body)
    assert fault == {"field": "runs", "error": "more than 300 trials together", "error_zh": "合计超过 300 次测试"}
    body["json"]["model_id"] = "no-such"
    person.refused(ModelNotFound, "POST", f"{path}/trigger-test", **body)
    assert scripted_llm.run_requests == []


def test_test_tells_its_progress_and_ends_with_its_connection(person: Api, path: str, scripted_llm: ModelServer):
    queries = [query_that_loads("daily-report", should=True)]
    headers = {**person.headers, "Accept": "text/event-stream"}
    url = f"/api/v1{path}/trigger-test"
    body = {"queries": queries, "runs": 2}
    with person.http.stream("POST", url, headers=headers, json=body) as answer:
        lines = list(answer.iter_lines())
    told = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert set(told[:-1]) == {"progress"}
    assert told[-1] == "result"
    assert 'data: {"done":2,"total":2}' in lines

    held = {"query": QUIET.replace("#rounds", "#held-rounds"), "should_trigger": False}
    slow = {"queries": [held, queries[0]], "runs": 10}
    with person.http.stream("POST", url, headers=headers, json=slow) as answer:
        next(answer.iter_lines())
    eventually(lambda: scripted_llm.hung_up.is_set(), what="the model's answer is given up")
    assert person.get(f"{path}/trigger-tests")["total"] == 1


def test_tests_of_others_are_not_shown(llm_product: Server, person: Api, path: str):
    other = llm_product.person()
    body = {"queries": [{"query": f"Hello {QUIET}", "should_trigger": False}], "by": "offline"}
    person.post(f"{path}/trigger-test", body)
    other.refused(SkillNotFound, "GET", f"{path}/trigger-tests")
    person.put(f"{path}/shares", {"shares": [{"username": other.name}]})
    assert other.get(f"{path}/trigger-tests")["total"] == 0
