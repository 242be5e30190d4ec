"""The questions of ``tests/data/offline_answers``: the sentence that answers is quoted, or nothing where none does.

The passages are those that a search found (``python -m benchmarks.offline_answer --record``), so that the selection of sentences is
tested here and the whole way in the benchmark.
"""

import json
import time

import pytest

from agents.evidence import NumberedText
from agents.llm.extractive.model import answer_from
from benchmarks.offline_answer import DATA, OfflineAnswer, OfflineCase, quotes_of, read_cases

CASES = read_cases()
RECORDED = json.loads((DATA / "passages.json").read_text(encoding="utf-8"))
# What words alone don't tell: other words for the same, and a word that the documents use of something else.
UNSOLVED = {
    "en-leave-legal", "en-coffee-loud", "en-backup-cost", "en-release-contract", "en-bike-staff",
    "zh-expense-payday", "zh-expense-checkup", "zh-stream-cancel", "zh-access-canteen", "zh-access-meeting", "zh-tool-gui",
    "zh-ledger-web", "zh-ledger-price",
}  # fmt: skip


def passages(case: OfflineCase) -> list[NumberedText]:
    found = (RECORDED["passages"][key] for key in RECORDED["rankings"][case.id])
    return [
        NumberedText(number, one["document_name"], tuple(one["heading_path"]), one["content"])
        for number, one in enumerate(found, 1)
    ]


def answer(case: OfflineCase) -> OfflineAnswer:
    started = time.perf_counter()
    text = answer_from(case.question, passages(case), [case.question])
    return OfflineAnswer(case, quotes_of(text), (time.perf_counter() - started) * 1000)


@pytest.mark.parametrize("case", [case for case in CASES if case.id not in UNSOLVED], ids=lambda case: case.id)
def test_right_sentence_is_quoted_or_none(case: OfflineCase):
    given = answer(case)

    assert given.is_right, given.quotes


def test_sentence_that_answers_stands_first_for_nine_of_ten():
    answerable = [answer(case) for case in CASES if case.spans]

    assert sum(given.is_first for given in answerable) >= 0.9 * len(answerable)


def test_known_failures_are_failures_still():
    solved = {case.id for case in CASES if case.id in UNSOLVED and answer(case).is_right}

    assert solved == set()


def test_spans_stand_in_their_documents():
    for case in CASES:
        text = (DATA / "documents" / case.document).read_text(encoding="utf-8").replace("`", "").replace("**", "")
        assert all(span in text for span in case.spans), case.id
