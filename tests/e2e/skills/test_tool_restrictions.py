"""Tool restrictions by skills over HTTP: deleted, disabled, and strict ones."""

import pytest

from agents.agui.verifier import verify
from core.errors.requests import InvalidRunInput
from tests.e2e.skills.test_skill_runs import (
    DENIED,
    READ,
    answer_to,
    offered_tools,
    results_of,
    run_with_calls,
    state_of,
    verified_events,
)
from tests.fixtures.http.client import Api
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import run, run_body, text_of
from tests.fixtures.skills.stored_skills import CAREFUL, REPORT, write_skill

CLOCK = ["current_time", {"timezone": "UTC"}]
LOADED = ["load_skill", {"name": "daily-report", "inputs": {"team": "Relay"}}]


@pytest.fixture
def person(llm_product: Server) -> Api:
    return llm_product.person()


@pytest.fixture
def report(llm_product: Server, person: Api) -> str:
    """The id of a skill that allows the clock alone and needs a team."""
    return write_skill(llm_product, person.user_id, REPORT)


def test_run_that_waits_is_kept_to_a_skill_that_is_gone_when_it_goes_on(llm_product: Server, person: Api, report: str):
    person.put("/users/me/tool-policies", {"policies": {"current_time": "ask"}})
    body = run_with_calls([LOADED], [CLOCK], [READ])
    waits = verified_events(person, body)
    person.delete(f"/skills/{report}")
    events = run(person, answer_to(body, waits, {"approved": True}))
    verify([*waits, *events], thread_id=body["threadId"], state={})
    clock, refused = results_of(events)
    assert "weekday" in clock
    assert DENIED in refused
    assert text_of(events) == "The report is written."


def test_skills_are_not_chosen_for_runs_that_may_not_load_them(llm_product: Server, person: Api, report: str):
    session = person.post("/sessions", {"config": {"skill_ids": [report]}})
    person.put("/users/me/tool-policies", {"policies": {"load_skill": "never"}})
    for field, fields in (
        ("forwarded_props.skill_ids", {"forwarded_props": {"skill_ids": [report]}}),
        ("session.config.skill_ids", {"thread_id": session["id"]}),
    ):
        body = run_body("Hello", **fields)
        refused = person.refused(InvalidRunInput, "POST", "/agent/run", json=body)
        assert (refused["field"], refused["error"]) == (field, "the tool load_skill is switched off")
    # A slug is just text then.
    assert results_of(verified_events(person, run_with_calls(said="/daily-report"))) == []


def test_person_sees_how_far_a_strict_skill_is_and_its_steps_hold_tools_back(
    llm_product: Server, person: Api, scripted_llm: ModelServer
):
    skill_id = write_skill(llm_product, person.user_id, CAREFUL)
    done = ["complete_step", {"index": 1, "evidence": "It is Monday."}]
    body = run_with_calls([READ], [CLOCK], [done], chosen=1, props={"skill_ids": [skill_id]})
    events = verified_events(person, body)

    loaded, denied, clock, following = results_of(events)
    assert "Ask which day it is." in loaded
    assert "Look up the port." not in loaded
    assert "calendar_read" not in offered_tools(scripted_llm, 0)
    assert "is not allowed by the active skill careful-search" in denied
    assert "weekday" in clock
    assert "Look up the port." in following
    (shown,) = state_of(events)["skills"]
    assert shown["steps"] == [
        {"index": 1, "title": "Clock", "status": "done", "evidence": "It is Monday."},
        {"index": 2, "title": "Search", "status": "current"},
        {"index": 3, "title": "Write", "status": "pending"},
    ]
