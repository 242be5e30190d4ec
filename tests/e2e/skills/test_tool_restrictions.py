"""Skills keep runs to their tools, over HTTP: gone since, switched off, and step by step."""

import pytest

from agents.agui.verifier import verify
from core.errors.requests import InvalidRunInput
from tests.e2e.skills.test_skill_runs import DENIED, READ, answering, asking, checked, offered, results_of, state_of
from tests.fixtures.http.client import Api
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import run, run_body, text_of
from tests.fixtures.skills.stored_skills import CAREFUL, REPORT, write_skill

CLOCK = ["current_time", {"timezone": "UTC"}]
LOADED = ["load_skill", {"name": "daily-report", "inputs": {"team": "Relay"}}]


@pytest.fixture
def person(modelled: Server) -> Api:
    return modelled.person()


@pytest.fixture
def report(modelled: Server, person: Api) -> str:
    """The id of a skill that allows the clock alone and needs a team."""
    return write_skill(modelled, person.user_id, REPORT)


def test_run_that_waits_is_kept_to_a_skill_that_is_gone_when_it_goes_on(modelled: Server, person: Api, report: str):
    person.put("/users/me/tool-policies", {"policies": {"current_time": "ask"}})
    body = asking([LOADED], [CLOCK], [READ])
    waits = checked(person, body)
    person.delete(f"/skills/{report}")
    events = run(person, answering(body, waits, {"approved": True}))
    verify([*waits, *events], thread_id=body["threadId"], state={})
    clock, refused = results_of(events)
    assert "weekday" in clock
    assert DENIED in refused
    assert text_of(events) == "The report is written."


def test_skills_are_not_chosen_for_runs_that_may_not_load_them(modelled: Server, person: Api, report: str):
    session = person.post("/sessions", {"config": {"skill_ids": [report]}})
    person.put("/users/me/tool-policies", {"policies": {"load_skill": "never"}})
    for field, fields in (
        ("forwardedProps.skill_ids", {"forwarded_props": {"skill_ids": [report]}}),
        ("session.config.skill_ids", {"thread_id": session["id"]}),
    ):
        body = run_body("Hello", **fields)
        refused = person.refused(InvalidRunInput, "POST", "/agent/run", json=body)
        assert refused == {"field": field, "error": "the tool load_skill is switched off"}
    # A slug is just text then.
    assert results_of(checked(person, asking(said="/daily-report"))) == []


def test_person_sees_how_far_a_strict_skill_is_and_its_steps_hold_tools_back(
    modelled: Server, person: Api, scripted: ModelServer
):
    skill_id = write_skill(modelled, person.user_id, CAREFUL)
    done = ["complete_step", {"index": 1, "evidence": "It is Monday."}]
    body = asking([READ], [CLOCK], [done], chosen=1, props={"skill_ids": [skill_id]})
    events = checked(person, body)

    loaded, denied, clock, following = results_of(events)
    assert "Ask which day it is." in loaded
    assert "Look up the port." not in loaded
    assert "calendar_read" not in offered(scripted, 0)
    assert "is not allowed by the active skill careful-search" in denied
    assert "weekday" in clock
    assert "Look up the port." in following
    (shown,) = state_of(events)["skills"]
    assert shown["steps"] == [
        {"index": 1, "title": "Clock", "status": "done", "evidence": "It is Monday."},
        {"index": 2, "title": "Search", "status": "current"},
        {"index": 3, "title": "Write", "status": "pending"},
    ]
