"""The detection of statements that the sources do not support."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.evidence import Evidence
from agents.strategies.shared.citation_check import unsupported_claims
from tests.agents.fakes import CHINESE, INSTALL, SETTINGS


def evidence() -> Evidence:
    found = Evidence()
    found.add((INSTALL, SETTINGS, CHINESE), query="q")
    return found


def find_unsupported(answer: str) -> list[tuple[str, str]]:
    return [(claim.text, claim.reason) for claim in unsupported_claims(answer, evidence())]


@pytest.mark.parametrize(
    "answer",
    [
        "It listens on port 8000 [1].",
        "It listens on port 8000. [1]",
        "It needs Python 3.11. It listens on port 8000 [1].",
        "It listens on port 8000 [1]. Python 3.11 is needed.",
        "默认端口是 8000【3】。",
        "默认端口是 8000。[3]",
        "它监听 8000 端口 [1]。",
        "# The default port of the server\n\nIt listens on port 8000 [1].",
        "You need this:\n- Python 3.11 or newer [1]\n- the port set with AGENTEX_PORT [2]",
        "The passages do not say who wrote it.",
        "文档中没有提到作者是谁。",
        "Which port do you mean by that?",
        "The default port is the following:",
        "```\nlisten 9999 on some other port\n```\nIt listens on port 8000 [1].",
        "Hello there.",
    ],
)
def test_borne_out_statements_are_not_marked(answer):
    assert find_unsupported(answer) == []


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        ("The port is 9000 [1].", [("The port is 9000.", "not_in_source")]),
        (
            "It listens on port 9000 [1].",
            [("It listens on port 9000.", "not_in_source")],
        ),
        (
            "The moon orbits earth quickly [1].",
            [("The moon orbits earth quickly.", "not_in_source")],
        ),
        (
            "It listens on port 8000 [1].\n\nThe server was written by Ada Lovelace.",
            [("The server was written by Ada Lovelace.", "uncited")],
        ),
        (
            "- It listens on port 8000 [1]\n- It sends mail every morning",
            [("It sends mail every morning", "uncited")],
        ),
        (
            "It listens on port 8000 [9].",
            [("It listens on port 8000.", "no_source")],
        ),
        ("默认端口是 9000【3】。", [("默认端口是 9000。", "not_in_source")]),
        ("服务器由张三编写，每天发送邮件。", [("服务器由张三编写，每天发送邮件。", "uncited")]),
    ],
)
def test_statements_without_a_source_are_marked(answer, claims):
    assert find_unsupported(answer) == claims


def test_nothing_is_marked_when_nothing_was_retrieved():
    assert unsupported_claims("Paris is the capital of France.", Evidence()) == ()


def test_mark_without_any_passage_is_no_source():
    (claim,) = unsupported_claims("Hello there. It uses port 7070 [1].", Evidence())

    assert claim.reason == "no_source"


@pytest.mark.parametrize(
    ("answer", "reasons"),
    [
        ("Today is Saturday, 21 November 2026.", []),
        ("Today is Sunday, 22 November 2026.", ["uncited"]),
        ("Today is Saturday, 21 November 2026 [1].", ["not_in_source"]),
    ],
)
def test_statement_may_rest_on_what_a_tool_said(answer, reasons):
    told = '{"time": "2026-11-21T09:07:00+00:00", "weekday": "Saturday"}'
    claims = unsupported_claims(answer, evidence(), uncited=told)

    assert [claim.reason for claim in claims] == reasons


def test_thousands_separators_do_not_matter():
    found_in = Evidence()
    found_in.add((INSTALL,), query="q")

    assert unsupported_claims("It listens on port 8,000 [1].", found_in) == ()


@given(st.text(alphabet="ab1[]【】,，.。\n `(8#-", max_size=300))
def test_any_answer_is_read(answer):
    for claim in unsupported_claims(answer, evidence()):
        assert claim.text
        assert "[1]" not in claim.text
