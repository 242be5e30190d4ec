"""The agent types over HTTP: with the scripted model, and without any."""

import time
from collections.abc import Callable
from uuid import uuid4

import pytest
from pydantic import JsonValue

from agents.agui.json_patch import apply_patch
from tests.fixtures.http.client import Api
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import RUN, GuideKb, Run, camel, make_guide_kb, run_body, text_of, verified_run


@pytest.fixture
def reader(llm_product: Server, guide_kb_of: Callable[[Server], GuideKb]) -> Api:
    """Somebody who asks the product with a language model."""
    return guide_kb_of(llm_product).owner


@pytest.fixture
def guide(llm_product: Server, guide_kb_of: Callable[[Server], GuideKb]) -> str:
    """A knowledge base of the reader's, English and Chinese."""
    return guide_kb_of(llm_product).kb_id


@pytest.fixture
def offline(embedded: Server, guide_kb_of: Callable[[Server], GuideKb]) -> GuideKb:
    """Somebody who asks the product without a language model, and what they ask about."""
    return guide_kb_of(embedded)


def run_fields(agent_type: str, kb_id: str) -> dict:
    return {"forwarded_props": {"agent_type": agent_type, "knowledge_base_ids": [kb_id]}}


def steps_of(events: list[dict]) -> list[str]:
    return [event["stepName"] for event in events if event["type"] == "STEP_STARTED"]


def cited_in(events: list[dict]) -> set[str]:
    return {citation["document_name"] for citation in events[-1]["result"]["citations"]}


HAPPY = {
    "react": ("react", {"think", "act", "observe", "check_citations"}),
    "plan_execute": ("plan", {"plan", "execute", "synthesise", "check_citations"}),
    "reflexion": (
        "reflexion",
        {"attempt", "evaluate", "reflect", "answer", "check_citations"},
    ),
    "worker": (
        "worker-react",
        {"router", "worker", "think", "act", "observe", "check_citations"},
    ),
}


@pytest.mark.parametrize("agent_type", HAPPY)
def test_agent_type_answers_with_citations(reader: Api, guide: str, agent_type: str):
    script, steps = HAPPY[agent_type]
    question = f"Which port does the relay use, and how long are logs kept? #{script}"
    events = verified_run(reader, question, **run_fields(agent_type, guide))

    assert set(steps_of(events)) == steps
    assert "7070" in text_of(events)
    assert cited_in(events)
    stored = reader.get(f"/sessions/{events[0]['threadId']}/messages")["items"][-1]
    assert stored["metadata"]["agent_type"] == agent_type
    assert stored["metadata"]["citations"] == events[-1]["result"]["citations"]


@pytest.mark.parametrize("agent_type", HAPPY)
@pytest.mark.parametrize(
    ("question", "notice", "quote", "document"),
    [
        (
            "Which port does the relay server listen on?",
            "No language model is configured",
            "listens on port 7070",
            "relay.md",
        ),
        ("中继服务器默认监听哪个端口？", "当前未配置语言模型", "默认监听 7070 端口", "中继.md"),
    ],
)
def test_agent_type_quotes_when_there_is_no_model(
    offline: GuideKb,
    agent_type: str,
    question: str,
    notice: str,
    quote: str,
    document: str,
):
    events = verified_run(offline.owner, question, **run_fields(agent_type, offline.kb_id))

    assert text_of(events).startswith(notice)
    assert quote in text_of(events)
    assert document in cited_in(events)


@pytest.mark.parametrize("agent_type", HAPPY)
def test_agent_type_abstains_when_there_is_no_model(offline: GuideKb, agent_type: str):
    question = "Who composed the Goldberg variations?"
    events = verified_run(offline.owner, question, **run_fields(agent_type, offline.kb_id))

    assert "No language model is configured" in text_of(events)
    assert events[-1]["result"]["citations"] == []
    assert "7070" not in text_of(events)


SLOW = {
    "react": "react-slow",
    "plan_execute": "plan-slow",
    "reflexion": "reflexion-slow",
    "worker": "worker-slow",
}


@pytest.mark.parametrize("agent_type", SLOW)
def test_agent_type_is_stopped_in_the_middle(reader: Api, guide: str, scripted_llm: ModelServer, agent_type: str):
    body = camel(run_body(f"Which port? #{SLOW[agent_type]}", **run_fields(agent_type, guide)))
    with Run(reader, body) as streaming:
        streaming.until("TOOL_CALL_RESULT")
        assert scripted_llm.waiting.wait(20)
        started = time.monotonic()
        assert reader.post(f"{RUN}/{body['runId']}/stop")["stopped"] is True
        events = streaming.finish()
        took = time.monotonic() - started

    assert took < 5
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert scripted_llm.hung_up.wait(10)


CHINESE = {
    "react": ("react-chinese", "中继服务器监听 7070 端口 [1]。"),
    "plan_execute": ("plan-chinese", "端口是 7070 [1]，日志保存三十天 [1]。"),
    "reflexion": ("reflexion-chinese", "端口是 7070 [1]，日志保存三十天 [1]。"),
    "worker": ("worker-chinese", "中继服务器监听 7070 端口 [1]。"),
}


@pytest.mark.parametrize("agent_type", CHINESE)
def test_chinese_question_is_answered(reader: Api, guide: str, agent_type: str):
    script, answer = CHINESE[agent_type]
    question = f"中继服务器监听哪个端口？ #{script}"
    events = verified_run(reader, question, **run_fields(agent_type, guide))

    assert text_of(events) == answer
    assert cited_in(events)


FAILING = {
    "react": "react-failing-tools",
    "plan_execute": "plan-failing",
    "reflexion": "reflexion-failing",
}


@pytest.mark.parametrize("agent_type", FAILING)
def test_failed_tools_do_not_end_the_run(reader: Api, guide: str, agent_type: str):
    question = f"Which port does the relay use? #{FAILING[agent_type]}"
    events = verified_run(reader, question, **run_fields(agent_type, guide))

    results = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert results[0].startswith("There is no tool")
    assert "7070" in text_of(events)
    assert cited_in(events)


def test_react_that_loops_ends_with_what_it_has(reader: Api, guide: str):
    events = verified_run(reader, "Which port? #react-loop", **run_fields("react", guide))

    assert "This answer is incomplete" in text_of(events)
    said = next(event for event in events if event["type"] == "TEXT_MESSAGE_END")
    assert said["metadata"]["ended_by"] == "repeats"
    stored = reader.get(f"/sessions/{events[0]['threadId']}/messages")["items"][-1]
    assert stored["metadata"]["ended_by"] == "repeats"


@pytest.mark.parametrize(
    ("script", "source", "steps"),
    [
        ("plan-malformed", "repaired", ["plan", "execute", "execute", "synthesise"]),
        ("plan-unreadable", "rules", ["plan", "execute", "execute", "synthesise"]),
        ("plan-learning", "model", ["plan", "execute", "replan", "execute", "synthesise"]),
    ],
)
def test_plan_is_mended_and_changed(reader: Api, guide: str, script: str, source: str, steps: list[str]):
    # In front, because the rules take a question apart behind its question mark.
    question = f"#{script} Which port does the relay use, and how long are logs kept?"
    events = verified_run(reader, question, **run_fields("plan_execute", guide))

    assert steps_of(events) == [*steps, "check_citations"]
    state: JsonValue = None
    for event in events:
        if event["type"] == "STATE_SNAPSHOT":
            state = event["snapshot"]
        elif event["type"] == "STATE_DELTA":
            state = apply_patch(state, event["delta"])
    assert isinstance(state, dict)
    plan = state["plan"]
    assert (plan["source"], {step["status"] for step in plan["steps"]}) == (source, {"done"})


def test_claim_without_a_source_is_marked(reader: Api, guide: str):
    events = verified_run(reader, "Which port? #rag", **run_fields("agentic_rag", guide))

    # The script says 8000, the guide 7070.
    claims = [{"text": "The port is 8000.", "reason": "not_in_source"}]
    said = next(event for event in events if event["type"] == "TEXT_MESSAGE_END")
    assert said["metadata"]["unsupported_claims"] == claims


def test_reflections_are_kept_for_their_thread_alone(reader: Api, guide: str, llm_product: Server):
    def learned(asker: Api, kb_id: str, thread: str, agent_type: str = "reflexion") -> list[str]:
        question = "Which port is it, and how long are logs kept? #"
        question += "worker-reflexion" if agent_type == "worker" else "reflexion"
        events = verified_run(asker, question, thread_id=thread, **run_fields(agent_type, kb_id))
        states = [event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT"]
        return states[-1]["earlier_reflections"]

    thread, lesson = str(uuid4()), "I must look for the logs too."
    assert learned(reader, guide, thread) == []
    # What was learned makes the first attempt good: nothing is reflected on any more.
    assert learned(reader, guide, thread) == [lesson]
    assert learned(reader, guide, thread, "worker") == [lesson]
    assert learned(reader, guide, str(uuid4())) == []
    other = make_guide_kb(llm_product.person())
    assert learned(other.owner, other.kb_id, thread) == []

    reader.delete(f"/sessions/{thread}")
    assert learned(reader, guide, thread) == []
