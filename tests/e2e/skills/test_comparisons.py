"""Comparisons of answers with and without a skill, over HTTP, by a blind judge."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors.auth import ModelNotFound, PermissionDenied, SkillNotFound, SkillVersionNotFound
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.cli_commands import commands_of
from tests.fixtures.product.server import Server
from tests.fixtures.skills.skill_texts import REPORT

QUERY = "Write my report. #compared {}"


@pytest.fixture
def person(llm_product: Server) -> Iterator[Api]:
    return llm_product.person()


@pytest.fixture
def path(person: Api) -> str:
    return f"/skills/{person.post('/skills', {'content': REPORT})['id']}"


def roles(request: Any) -> list[str]:
    return [message["role"] for message in request.messages]


def test_pairs_are_judged_blindly_in_both_orders_and_counted(person: Api, path: str, scripted_llm: ModelServer):
    told = person.post(f"{path}/comparison", {"queries": [QUERY, f"Again. {QUERY}"], "runs": 2})
    assert (told["version"], told["against"], told["runs"]) == (1, None, 2)
    assert told["model"] == told["judge"] == "by-question"
    assert told["outcomes"] == {"better": 4, "worse": 0, "same": 0, "undecided": 0}
    assert [pair["query"] for pair in told["pairs"]] == [QUERY, QUERY, *[f"Again. {QUERY}"] * 2]
    for pair in told["pairs"]:
        assert (pair["answer"], pair["baseline"]) == ("With the procedure.", "Off the cuff.")
        assert pair["reasons"] == ["It has a procedure."] * 2

    asked = Counter(tuple(roles(request)) for request in scripted_llm.run_requests)
    assert asked[("system", "user", "assistant", "tool")] == 4
    judges = [r.messages for r in scripted_llm.run_requests if "two answers" in r.messages[0]["content"]]
    judged = [json.loads(messages[1]["content"]) for messages in judges]
    shown = Counter(shown_pair["A"] for shown_pair in judged)
    assert shown == {"With the procedure.": 4, "Off the cuff.": 4}
    # Nothing tells the judge which one had the skill.
    assert all(shown_pair.keys() == {"request", "A", "B"} for shown_pair in judged)
    usage = person.get("/models/usage")["totals"]
    assert (usage["runs"], usage["prompt_tokens"] > 0) == (0, True)


@pytest.mark.parametrize(
    ("script", "outcome", "reasons"),
    [
        ("#compared-in-order {}", "same", ["It came first."] * 2),
        ("#compared-badly {}", "undecided", []),
    ],
)
def test_what_the_judge_contradicts_or_garbles_decides_nothing(
    person: Api, path: str, scripted_llm: ModelServer, script: str, outcome: str, reasons: list[str]
):
    told = person.post(f"{path}/comparison", {"queries": [f"Please. {script}"]})
    (pair,) = told["pairs"]
    assert (pair["outcome"], pair["reasons"]) == (outcome, reasons)


def test_versions_are_compared_and_equal_answers_judged_by_nobody(person: Api, path: str, scripted_llm: ModelServer):
    person.put(path, {"content": REPORT + "3. Send it.\n"})
    told = person.post(f"{path}/comparison", {"queries": [QUERY], "against": 1})
    assert (told["version"], told["against"], told["outcomes"]["same"]) == (2, 1, 1)
    texts = ["3. Send it." in request.messages[-1]["content"] for request in scripted_llm.run_requests]
    assert texts == [True, False]


def test_progress_is_told_and_bad_requests_ask_no_model(
    llm_product: Server, person: Api, path: str, scripted_llm: ModelServer
):
    refuse = person.refused
    body: dict[str, Any] = {"queries": ["Hello"] * 26, "runs": 2}
    fault = refuse(InvalidRequest, "POST", f"{path}/comparison", json=body)
    assert fault == {"field": "runs", "error": "more than 50 pairs together", "error_zh": "合计超过 50 对回答"}
    body = {"queries": ["Hello"], "against": 1}
    fault = refuse(InvalidRequest, "POST", f"{path}/comparison", json=body)
    assert fault["field"] == "against"
    body["against"] = 7
    refuse(SkillVersionNotFound, "POST", f"{path}/comparison", json=body)
    body = {"queries": ["Hello"], "judge_model_id": "no-such"}
    refuse(ModelNotFound, "POST", f"{path}/comparison", json=body)
    llm_product.person().refused(SkillNotFound, "POST", f"{path}/comparison", json={"queries": ["Hello"]})
    key = person.post("/users/me/api-keys", {"name": "k", "scopes": ["skill:view"]})["key"]
    narrow = llm_product.api(**{"X-API-Key": key})
    body = {"queries": ["Hello"]}
    narrow.refused(PermissionDenied, "POST", f"{path}/comparison", json=body)
    assert scripted_llm.run_requests == []

    headers = {**person.headers, "Accept": "text/event-stream"}
    url = f"/api/v1{path}/comparison"
    with person.http.stream("POST", url, headers=headers, json={"queries": [QUERY]}) as answer:
        lines = list(answer.iter_lines())
    assert 'data: {"done":1,"total":1}' in lines
    assert lines[lines.index("event: result") + 1].startswith('data: {"version":1,')


def test_terminal_shows_pairs_as_a_table(
    llm_product: Server, person: Api, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    queries = [{"query": QUERY, "should_trigger": True}, {"query": "No.", "should_trigger": False}]
    file = tmp_path / "queries.json"
    with commands_of("skill", llm_product, person, tmp_path, monkeypatch) as skill:
        file.write_text(json.dumps(queries))
        done = skill("compare", "daily-report", str(file))
        file.write_text(json.dumps(queries[1:]))
        none = skill("compare", "daily-report", str(file))
    assert done.exit_code == 0, done.output
    assert f"better\t{QUERY}\tIt has a procedure." in done.stdout
    assert "version 1 beside no skill: 1 better, 0 worse" in done.stdout
    assert none.exit_code == 2
    assert "no request should choose the skill" in none.stderr
