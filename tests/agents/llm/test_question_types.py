"""The form of a question, and the marks of a sentence that could answer it."""

import pytest

from agents.llm.extractive.question_types import answer_factor, question_types, without_question_forms


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("How many days of leave do I get?", "Everybody gets 28 days.", "Leave is granted in days."),
        ("How quickly must it answer?", "Answer within 10 seconds.", "Answer with any status."),
        ("When does it expire?", "It expires on 31 March.", "It can expire."),
        ("Who approves it?", "Your line manager approves it.", "It gets approved."),
        ("Why is vinegar forbidden?", "Vinegar is forbidden because it attacks rubber.", "Vinegar is forbidden."),
        ("What is the header good for?", "The header lets you recognise repeats.", "The header has 16 bytes."),
        ("冰糖放多少？", "冰糖 20 克", "冰糖要炒化。"),
        ("牛肉要炖多久？", "小火炖 90 分钟。", "牛肉切成 3 块。"),
        ("id 可以用来做什么？", "id 可用于续传。", "id 由服务器生成。"),
        ("为什么用冷水？", "因为冷水能把血水逼出来。", "用冷水煮。"),
    ],
)
def test_answer_of_the_right_form_is_likelier(question: str, answer: str, other: str):
    types = question_types(question)

    assert answer_factor(types, question, answer, "") > answer_factor(types, question, other, "")


def test_figure_of_the_question_is_no_answer():
    question = "How many seats has hall 12?"

    assert answer_factor(question_types(question), question, "Hall 12 has seats.", "") < 1


def test_header_that_asks_the_same_answers():
    question = "When is it sent?"

    assert answer_factor(question_types(question), question, "lost | nothing scanned", "Event | Sent when") > 1


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("What does a red light mean?", "a red light mean?"),
        ("How long are logs kept?", "are logs kept?"),
        ("retry 字段有什么作用？", "retry 字段 ？"),
    ],
)
def test_words_that_only_ask_are_taken_out(question: str, rest: str):
    assert without_question_forms(question).split() == rest.split()
