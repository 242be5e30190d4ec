"""The resolution of citation marks in answers."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.evidence import Evidence
from agents.strategies.agentic_rag import PassageGrade, grade_by_terms, read_grade
from agents.strategies.shared.citation_check import check_citations, without_marks
from tests.agents.fakes import CHINESE, INSTALL, SETTINGS, passage


def evidence(*passages) -> Evidence:
    found = Evidence()
    found.add(passages or (INSTALL, SETTINGS, CHINESE), query="q")
    return found


def numbers(answer: str) -> list[int]:
    return [citation.number for citation in check_citations(answer, evidence()).citations]


@pytest.mark.parametrize(
    ("answer", "cited"),
    [
        ("It is 8000 [1].", [1]),
        ("It is 8000.[1][2]", [1, 2]),
        ("It is 8000 [1, 2].", [1, 2]),
        ("默认端口是 8000【3】。", [3]),
        ("Twice [2], twice [2].", [2]),
        ("No marks.", []),
        ("See [1](https://example.com).", []),
        ("Use `list[1]` here.", []),
        ("```\nrow[2]\n```\nbut [1]", [1]),
        ("Year [1984] is none of ours.", []),
    ],
)
def test_marks_are_found_in_prose_only(answer, cited):
    assert numbers(answer) == cited


def test_number_without_a_passage_is_invalid():
    assert check_citations("So [9] and [1].", evidence()).invalid_numbers == (9,)


def test_quote_is_the_sentence_nearest_to_the_claim():
    (citation,) = check_citations("You change it with AGENTEX_PORT [2].", evidence()).citations

    assert citation.quote == "The port is changed with AGENTEX_PORT."
    assert citation.page == 3
    assert (citation.char_start, citation.char_end) == (42, 80)


def test_page_is_the_one_on_which_the_quote_begins():
    content = "It listens on port 7070. The lever is green. Oil it twice a year."
    lever, oil = 100 + content.index("The lever"), 100 + content.index("Oil")
    long = replace(passage(content, start=100), page=3, later_pages=((lever, 4), (oil, 6)))
    cited = {
        check_citations(claim, evidence(long)).citations[0].page
        for claim in ("Port 7070 [1].", "The lever is green [1].", "Oil it twice a year [1].")
    }
    assert cited == {3, 4, 6}
    # An edited text has lost its places.
    edited = replace(long, content=f"Beware. {content}")
    (citation,) = check_citations("Oil it twice a year [1].", evidence(edited)).citations
    assert citation.page == 3


def test_quote_spans_the_sentences_of_several_claims():
    answer = "Python 3.11 or newer is needed [1]. It listens on port 8000 [1]."
    (citation,) = check_citations(answer, evidence()).citations

    assert citation.quote == INSTALL.content


def test_quote_is_the_passages_beginning_when_nothing_is_shared():
    (citation,) = check_citations("完全不同 [1]", evidence(passage("x" * 5000))).citations

    assert citation.quote == "x" * 600


def test_span_is_the_passages_when_its_text_is_no_plain_slice():
    table = passage("a | b\n1 | 2. Next sentence here.", start=50)
    cut = type(table)(**{**_fields(table), "char_end": 60})
    (citation,) = check_citations("Next sentence here [1]", evidence(cut)).citations

    assert (citation.char_start, citation.char_end) == (50, 60)


def _fields(item) -> dict:
    return {name: getattr(item, name) for name in type(item).__dataclass_fields__}


@given(st.text(alphabet="ab1[]【】,，.。\n `(8", max_size=300))
def test_any_answer_is_checked_and_quotes_are_verbatim(answer):
    found = evidence()
    for citation in check_citations(answer, found).citations:
        cited = found.get(citation.number)
        assert cited is not None
        start = citation.char_start - cited.char_start
        assert cited.content[start : start + len(citation.quote)] == citation.quote


def test_marks_are_removed_from_earlier_answers():
    assert without_marks("It is 8000 [1][2]. `a[1]`") == "It is 8000 . `a`"


@pytest.mark.parametrize(
    ("answer", "grade"),
    [
        ('{"relevant": [2], "sufficient": true, "query": "x"}', PassageGrade((2,))),
        (
            'Sure: {"relevant": [2, 9], "sufficient": false, "query": " y "}.',
            PassageGrade((2,), "y"),
        ),
        ('{"relevant": [], "sufficient": false}', PassageGrade(())),
        ('{"relevant": "all"}', PassageGrade((1, 2))),
        ("{oops}", PassageGrade((1, 2))),
        ("no idea", PassageGrade((1, 2))),
        ("}{", PassageGrade((1, 2))),
    ],
)
def test_grade_is_read_leniently(answer, grade):
    assert read_grade(answer, [1, 2]) == grade


def test_offline_grade_asks_for_uncovered_terms():
    text = evidence(INSTALL).text([1], limit=10_000)

    assert grade_by_terms("Which port does it listen on?", text) == PassageGrade((1,))
    assert grade_by_terms("What of the zebra connector?", text).next_query == "zebra connector"
