"""Heuristics on questions: how they are split, and which agent type answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.strategies.shared.heuristics import MOST_PARTS, route_question, split_question


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Which port is it?", ["Which port is it?"]),
        ("Which port is it; who runs it?", ["Which port is it", "who runs it?"]),
        ("Which port is it, and how is it changed?", ["Which port is it", "how is it changed?"]),
        ("Which port is it? Who runs it?", ["Which port is it?", "Who runs it?"]),
        ("Find the port, then find the owner", ["Find the port", "find the owner"]),
        ("Compare the relay and the vault.", ["the relay", "the vault"]),
        ("What is the difference between SQLite and PostgreSQL?", ["SQLite", "PostgreSQL"]),
        ("默认端口是多少；日志保存多久？", ["默认端口是多少", "日志保存多久？"]),
        ("先查端口，然后查日志", ["先查端口", "查日志"]),
        ("比较中继和金库", ["中继", "金库"]),
        ("中继和金库有什么区别？", ["中继", "金库"]),
        ("hello", ["hello"]),
        ('/tool search {"query": "a; b"}', ['/tool search {"query": "a; b"}']),
    ],
)
def test_question_is_taken_apart(question, parts):
    assert split_question(question) == parts


@given(st.text(alphabet="ab ;?,and then比较和；，。", max_size=200))
def test_every_question_has_parts(question):
    parts = split_question(question)

    assert 1 <= len(parts) <= MOST_PARTS
    assert len(set(parts)) == len(parts)


@pytest.mark.parametrize(
    ("question", "can_search", "agent_type"),
    [
        ("Which port does the relay use?", True, "agentic_rag"),
        ("Which port does the relay use?", False, "react"),
        ("Compare the relay and the vault", True, "plan_execute"),
        ("Which port is it; who runs it?", True, "plan_execute"),
        ("先查端口，然后查日志", True, "plan_execute"),
        ("Check carefully which port it is", True, "reflexion"),
        ("请仔细核实端口是多少", True, "reflexion"),
        ("/tool current_time {}", True, "react"),
    ],
)
def test_agent_type_follows_from_the_words(question, can_search, agent_type):
    assert route_question(question, can_search=can_search) == agent_type
